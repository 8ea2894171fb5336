"""Curves and trees in plain NumPy: the oracle of the core's model types.

A row has *leaves*: the intervals of its columns' curves that its values fall into, and the leaves of trees that it
reaches. Each is a feature of scale 1 in addition to the linear terms, which are those of `unitless.paper.algorithms`.
Everything is float64 and literal, one lane and one leaf at a time; the compiled core computes the same and is tested
against this module.

    >>> import numpy as np
    >>> from oracles.curves_and_trees import Shaped
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> y = np.abs(X[:, 0])
    >>> wrong = {shape: Shaped(shape).run(X, y)[200:, 0] - y[200:] for shape in ("linear", "curves")}
    >>> bool(np.mean(wrong["curves"] ** 2) < 0.2 * np.mean(wrong["linear"] ** 2))
    True
"""

from __future__ import annotations

import copy
import math
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unitless.paper import algorithms as reference

from . import falling, published
from .mixture import Mixture
from .rates import AUTO_RATES, AUTO_START
from .softmax import against

Float64 = NDArray[np.float64]

FEW = 20
"""With more classes than this, all share their learning rates, and a row is learned by those that it can change."""

WATCHED = 8
"""How many classes a tree looks at."""

Leaf: TypeAlias = tuple[str, int, int]
"""A feature: of which kind ("curve" or "tree"), of which column or tree, and its place there."""

# -------------------------------------------------------------------------------------------------------------- curves


class Division(NamedTuple):
    """A division of a leaf: a share of its rows stays, and the others go to a new leaf."""

    leaf: Leaf
    right: Leaf
    share: float
    first: bool  # before, there was no feature
    means: dict[int, tuple[float, float]] = {}  # noqa: RUF012  by head: the mean residuals of the rows that stay and go


@dataclass
class Interval:
    """A leaf of a curve: its place, the last values that fell into it, and their number since it was made."""

    place: int
    values: deque[float] = field(default_factory=lambda: deque(maxlen=32))
    seen: int = 0


class Curve:
    """The curve of one column, which is cut at observed values and depends only on the order of values.

    A leaf with m = 32 values is large enough to be cut. Beyond K = 16 leaves, only leaves that get their share of the t
    rows are cut. A tree of 4·K nodes has 32 leaves.
    """

    m, K, most = 32, 16, 32

    def __init__(self, column: int) -> None:
        self.column = column
        self.thresholds: list[float] = []  # rising
        self.intervals = [Interval(0)]

    def interval(self, x: float) -> int:
        """The interval of a value: the number of thresholds below it."""
        return sum(threshold < x for threshold in self.thresholds)

    def leaf(self, x: float) -> Leaf | None:
        """The feature of a value. A missing value has a feature of its own; a column that was never cut has none."""
        if math.isnan(x):
            return ("curve", self.column, -1)
        return ("curve", self.column, self.intervals[self.interval(x)].place) if self.thresholds else None

    def learn(self, x: float, t: int) -> Division | None:
        """Update the curve after the t-th row."""
        if math.isnan(x) or len(self.intervals) == self.most:
            return None
        at = self.interval(x)
        u = self.intervals[at]
        u.values.append(x)
        u.seen += 1
        if u.seen < self.m or (len(self.intervals) >= self.K and u.seen * self.K < t):
            return None
        values = sorted(u.values)
        u.values.clear()
        u.seen = 0
        threshold = values[(self.m - 1) // 2]
        if threshold == values[-1]:
            below = [value for value in values if value < threshold]
            if not below:
                return None
            threshold = below[-1]
        fresh = Interval(len(self.intervals))
        self.thresholds.insert(at, threshold)
        self.intervals.insert(at + 1, fresh)
        share = sum(value <= threshold for value in values) / self.m
        own, right = (("curve", self.column, half.place) for half in (u, fresh))
        return Division(own, right, share, len(self.thresholds) == 1)


class Curves:
    """The curves of all columns of numbers."""

    def __init__(self) -> None:
        self.curves: dict[int, Curve] = {}

    def find(self, x: Float64, text: Sequence[bool]) -> list[Leaf]:
        """The leaves of a row."""
        for j in range(len(x)):
            if not text[j]:
                self.curves.setdefault(j, Curve(j))
        leaves = [curve.leaf(x[j]) for j, curve in self.curves.items()]
        return [leaf for leaf in leaves if leaf is not None]

    def learn(self, x: Float64, t: int) -> list[Division]:
        """Update the curves after the t-th row."""
        divisions = [curve.learn(float(x[j]), t) for j, curve in self.curves.items()]
        return [division for division in divisions if division is not None]


# --------------------------------------------------------------------------------------------------------------- trees


class Random:
    """The draws of a tree: a linear congruential generator modulo 2^64 (Knuth's MMIX), of which 31 bits are given."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def draw(self) -> int:
        """Draw the next number."""
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return self.state >> 33


class Watch:
    """The state of a leaf of a tree: q candidates for a split, and the residuals on the right side of each.

    Sums have 32 bits, as in the core, which saves memory in this way. With other sums, other candidates would win.
    """

    P, m, longest = 5, 16, 2**22

    def __init__(self, q: int, heads: int) -> None:
        self.q, self.heads, self.need = q, heads, self.m
        self.column = np.zeros(q, dtype=np.intp)
        self.low, self.high = np.zeros(q), np.zeros(q)
        self.begin()

    def begin(self) -> None:
        """Draw new candidates from here on."""
        self.stage = self.rows = 0
        self.fixed = [False] * self.q
        self.N, self.SS = np.float32(0), np.float32(0)
        self.S, self.nR = np.zeros(self.heads, np.float32), np.zeros(self.q, np.float32)
        self.sR = np.zeros((self.q, self.heads), np.float32)

    def draw(self, x: Float64, text: Sequence[bool], random: Random) -> None:
        """Draw candidates from a row. A missing value is below all numbers and is no text."""

        def value(column: int) -> float:
            return -math.inf if math.isnan(x[column]) else float(x[column])

        def enclose(z: int, code: float) -> None:
            self.low[z], self.high[z] = code - 0.5, code + 0.5

        for z in range(self.q):
            g = z % 4
            if self.stage < g or (self.stage > g and self.fixed[z]):
                continue
            column, before = int(self.column[z]), float(self.low[z])
            now = value(column)
            if self.stage > g and now != before:
                lower = random.draw() % 2 == 0
                self.fixed[z] = True
                if text[column]:
                    enclose(z, now if before == -math.inf or (lower and now != -math.inf) else before)
                else:
                    self.low[z] = min(now, before) if lower else np.nextafter(max(now, before), -math.inf)
                continue
            self.column[z] = column = random.draw() * len(x) >> 31
            self.low[z], self.high[z] = value(column), math.inf
        self.stage += 1
        if self.stage == self.P:
            for z in range(self.q):  # a text that never varied is separated from other texts that come later
                if not self.fixed[z] and text[self.column[z]] and self.low[z] != -math.inf:
                    enclose(z, float(self.low[z]))

    def add(self, x: Float64, r: Float64, h: float) -> None:
        """Watch the candidates on a row with residuals r by head."""
        seen = x[self.column]
        right = (self.low < seen) & (seen <= self.high)  # not where the value is missing
        self.rows += 1
        self.N += np.float32(h)
        self.S += (h * r).astype(np.float32)
        self.SS += np.float32(sum(h * own * own for own in r.tolist()))
        self.nR[right] += np.float32(h)
        self.sR[right] += (h * r).astype(np.float32)

    def best(self) -> tuple[int, float]:
        """The candidate with the largest gain (sL/nL - sR/nR)²·nL·nR/N, and that gain."""
        N, S, nR, sR = float(self.N), self.S.astype(float), self.nR.astype(float), self.sR.astype(float)
        nL = N - nR
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = (S - sR) / nL[:, None] - sR / nR[:, None]
            gain = np.sum(apart**2, axis=1) * nL * nR / N
        best, largest = -1, -1.0
        for z in np.flatnonzero((nL > 0) & (nR > 0)):
            # clearly better, so that rounding does not decide between equal candidates
            if gain[z] > (1 + 2.0**-10) * largest:
                best, largest = int(z), float(gain[z])
        return best, largest


@dataclass
class Node:
    """A leaf, or a question: low < x <= high goes to `yes`; everything else, missing values too, goes to `no`."""

    place: int
    watch: Watch
    column: int = 0
    low: float = 0.0
    high: float = 0.0
    no: Node | None = None
    yes: Node | None = None


class Tree:
    """One tree, which uses the residuals of some heads."""

    conf = 2.5

    def __init__(self, number: int, q: int, heads: range, watched: int, most: int, patience: int) -> None:
        self.number, self.q, self.heads, self.watched, self.most = number, q, heads, watched, most
        self.patience = patience
        self.random, self.leaves = Random(number + 1), 1
        self.root = Node(0, Watch(q, watched))
        self.due: list[Node] = []

    def reach(self, x: Float64) -> Node:
        """The leaf of a row."""
        node = self.root
        while node.yes is not None and node.no is not None:
            node = node.yes if node.low < x[node.column] <= node.high else node.no
        return node

    def leaf(self, node: Node) -> Leaf | None:
        """The leaf as a feature. A root without children has none."""
        return ("tree", self.number, node.place) if self.leaves > 1 else None

    def learn(self, node: Node, x: Float64, text: Sequence[bool], r: Float64, h: float) -> None:
        """Count a row with residuals r by head that reached this leaf."""
        if self.leaves == self.most:
            return
        u = node.watch
        if u.stage < u.P:
            u.draw(x, text, self.random)
            return
        own = np.zeros(self.watched)
        own[: len(self.heads)] = r[self.heads.start : self.heads.stop]
        u.add(x, own, h)
        if u.rows == u.need:
            self.due.append(node)

    def end_block(self) -> list[Division]:
        """Examine the leaves that have watched enough, in the order of their places."""
        due, self.due = self.due, []
        divisions = [self.examine(node) for node in sorted(due, key=lambda node: node.place) if node.yes is None]
        return [division for division in divisions if division is not None]

    def examine(self, node: Node) -> Division | None:
        """Divide a leaf, or let it draw again; it is left alone if classes have joined since it was due."""
        u = node.watch
        if self.leaves == self.most or u.stage < u.P or u.rows < u.need:
            return None
        z, gain = u.best()
        if not gain > self.conf * float(u.SS) / float(u.N):
            u.need = min(2 * u.need, u.longest)
            u.begin()
            return None
        node.column, node.low, node.high = int(u.column[z]), float(u.low[z]), float(u.high[z])
        node.no, node.yes = (Node(place, Watch(self.q, self.watched)) for place in (node.place, self.leaves))
        for half in (node.no, node.yes):
            half.watch.need += int(self.patience * math.sqrt(self.leaves))
        self.leaves += 1
        N, nR, S, sR = float(u.N), float(u.nR[z]), u.S.astype(float), u.sR[z].astype(float)
        stay, go = (S - sR) / (N - nR), sR / nR
        means = {head: (float(stay[i]), float(go[i])) for i, head in enumerate(self.heads)}
        own_leaf, right = (("tree", self.number, half.place) for half in (node.no, node.yes))
        return Division(own_leaf, right, (N - nR) / N, self.leaves == 2, means)


class Trees:
    """Trees over all columns.

    With classes, a tree uses at most eight heads; with more heads, trees take turns.
    """

    def __init__(self, heads: int, classes: bool, size: tuple[int, int, int]) -> None:
        self.T, self.most, self.patience = size  # trees, leaves of each, and how long their leaves watch
        self.count, self.watched = heads, WATCHED if classes else 1
        self.trees: list[Tree] = []
        # the scale of the residuals: a power of two, from the first nonzero one on; until then nothing is drawn
        self.unit = 0.0

    def find(self, x: Float64) -> list[Node]:
        """The leaves that a row reaches."""
        if not self.trees and len(x):
            groups = math.ceil(self.count / self.watched)
            for k in range(self.T):
                first = k % groups * self.watched
                heads = range(first, min(first + self.watched, self.count))
                self.trees.append(Tree(k, 16 if len(x) <= 16 else 24, heads, self.watched, self.most, self.patience))
        return [tree.reach(x) for tree in self.trees]

    def leaves(self, nodes: list[Node]) -> list[Leaf]:
        """The leaves as features."""
        leaves = [tree.leaf(node) for tree, node in zip(self.trees, nodes, strict=True)]
        return [leaf for leaf in leaves if leaf is not None]

    def restart(self) -> None:
        """Replace all trees by new ones, which continue the random draws of the old ones."""
        self.unit = 0.0
        for tree in self.trees:
            tree.root, tree.leaves, tree.due = Node(0, Watch(tree.q, tree.watched)), 1, []

    def learn(
        self,
        nodes: list[Node],
        x: Float64,
        text: Sequence[bool],
        r: Float64,
        h: float,
        active: set[int] | None = None,
    ) -> None:
        """Let trees count a row; if only some groups of heads are active, only the trees of these groups."""
        if not self.unit and r.any():
            self.unit = 2.0 ** (math.frexp(np.abs(r).max())[1] - 1)
        for tree, node in zip(self.trees if self.unit else (), nodes, strict=False):
            if active is not None and tree.heads.start // WATCHED not in active:
                continue
            tree.learn(node, x, text, r / self.unit, h)

    def end_block(self) -> Iterator[Division]:
        """Divide leaves at the end of a block."""
        for tree in self.trees:
            for division in tree.end_block():
                means = {head: (stay * self.unit, go * self.unit) for head, (stay, go) in division.means.items()}
                yield division._replace(means=means)


# ----------------------------------------------------------------------------------------------------------- advantage


class Advantage:
    """The advantage of a member over a constant prediction; it falls far when what was learned is no longer true.

    The loss of a class is -log p; that of a number is the squared error, divided by twice the constant's mean one.
    """

    far, earned, most = 16.0, 64.0, 4.0

    def __init__(self) -> None:
        self.now = self.highest = 0.0
        self.weight = self.mean = self.square = 0.0
        self.rows: list[float] = []  # by class

    def add_class(self, label: int, loss: float, h: float) -> None:
        """Count a row of a class."""
        self.rows += [0.0] * (label + 1 - len(self.rows))
        share = (self.rows[label] + 1) / (self.weight + len(self.rows))
        self.rows[label] += h
        self._add(-math.log(share) - loss, h)

    def add_number(self, label: float, loss: float, h: float) -> None:
        """Count a row whose label is a number."""
        apart = label - self.mean
        difference = (apart**2 - loss) / (2 * (self.square / self.weight)) if self.square > 0 else 0.0
        self.mean += h / (self.weight + h) * apart
        self.square += h * apart**2
        self._add(difference, h)

    def _add(self, difference: float, h: float) -> None:
        self.weight += h
        self.now += h * min(max(difference, -self.most), self.most)
        self.highest = max(self.highest, self.now)

    def is_lost(self) -> bool:
        """Whether what was learned is no longer true."""
        return self.highest >= self.earned and self.highest - self.now >= self.far


# ------------------------------------------------------------------------------------------------------------- members


class Seen(NamedTuple):
    """The values of a row in one lane: ŷ, and the part and values of the linear terms."""

    p: float
    share: float
    x: Float64


class Lane:
    """A learning rate: linear terms with their own G, and weights of leaves, whose G all rates of a head share."""

    def __init__(
        self, rate: int, eta: float, terms: reference.Algorithm, penalties: tuple[float, float] = (0.0, 0.0)
    ) -> None:
        self.rate, self.eta, self.terms = rate, eta, terms
        self.penalties = penalties  # l1 and l2 of the weights of leaves
        self.w: defaultdict[Leaf, float] = defaultdict(float)
        self.began_t = self.began_N = 0.0  # when the member began anew
        # For the choice of a rate: the losses, in which later rows count more, and the distance to the leader's loss,
        # since rates were last dropped and before.
        self.loss = self.recent = self.gap = self.square = self.total_gap = self.total_square = 0.0

    def observe(self, x: Float64, leaves: list[Leaf], h: float) -> Seen:
        """Steps (a) to (c). Each leaf is a feature of scale 1, which N counts once."""
        terms, more = self.terms, len(x) - len(self.terms.w)
        terms.w, terms.s, terms.G = (np.append(array, np.zeros(more)) for array in (terms.w, terms.s, terms.G))
        terms.t += h
        share, seen = terms.observe(x, h)
        terms.N += h * len(leaves)
        return Seen(share * float(terms.w @ seen) + sum(self.w[leaf] for leaf in leaves), share, seen)

    def foresee(self, x: Float64, leaves: list[Leaf]) -> float:
        """Predict ŷ for a row without learning it."""
        terms = copy.copy(self.terms)
        p = self.observe(x, leaves, 1.0).p
        self.terms = terms
        return p

    def damp(self) -> float:
        """t/N since the member began anew."""
        return (self.terms.t - self.began_t) / (self.terms.N - self.began_N)

    def leaf_rate(self, G: float) -> float:
        """The value that `terms.rate` would have for a feature of scale 1."""
        terms = self.terms
        damp = self.damp() if isinstance(terms, reference.NG) else 1.0
        if not adaptive(terms):
            return damp
        return math.sqrt(damp) / math.sqrt(G) if G > 0 else 0.0

    def step(self, row: Seen, p: float, y: float, h: float, pace: float, leaves: dict[Leaf, float]) -> None:
        """Step (d), where p is ŷ limited to the labels' range. `leaves` maps leaves to their G."""
        terms, loss, slope = self.terms, self.terms.loss, self.terms.loss.slope(p, y)
        terms.G = terms.G + h * (slope * row.x) ** 2
        if isinstance(terms, reference.NG) and terms.N == 0:
            return
        terms.eta = self.eta * pace
        if slope == 0:
            eta = terms.eta_t() * h
            for leaf, G in leaves.items():
                self.w[leaf] = self._shrunk(self.w[leaf], eta * self.leaf_rate(G), pace)
            return
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(row.x != 0, terms.rate(), 0.0)
        rate[~np.isfinite(rate)] = 0.0
        if isinstance(terms, reference.NG):
            anew = self.damp() / (terms.t / terms.N)
            rate *= math.sqrt(anew) if adaptive(terms) else anew
        steps = {leaf: self.leaf_rate(G) for leaf, G in leaves.items()}
        P = row.share * float(rate @ row.x**2) + sum(steps.values())
        eta = terms.eta_t() * h
        u = loss.step(p, y, eta, P) if terms.aware and P > 0 else -eta * slope
        terms.w = terms.w + u * rate * row.x
        for leaf, of_leaf in steps.items():
            self.w[leaf] = self._shrunk(self.w[leaf] + u * of_leaf, eta * of_leaf, pace)

    def _shrunk(self, w: float, speed: float, scale: float) -> float:
        """A leaf's weight after a proximal step of its penalties."""
        l1, l2 = self.penalties
        return math.copysign(max(0.0, abs(w) - l1 * scale * speed) / (1 + l2 * speed), w)

    def lost(self) -> bool:
        """Whether the loss is significantly larger than the leader's, both recently and over the whole stream."""
        total, square = self.total_gap + self.gap, self.total_square + self.square
        return self.gap > 6 * math.sqrt(self.square) and total > 6 * math.sqrt(square)


def adaptive(terms: reference.Algorithm) -> bool:
    """Whether the rule has rates 1/√G."""
    return isinstance(terms, (reference.AG, reference.NAG))


class Coupled(NamedTuple):
    """The influence of the other heads of a softmax on one head, by lane (see `oracles.softmax`)."""

    offsets: list[float]  # added to its score: minus log Σ exp(o) over the others
    losses: list[float]  # −log p of the row's class, the same for all heads


class Head:
    """The predictor of one number: several rates, of which the one with the smallest loss so far leads."""

    def __init__(self, lanes: list[Lane], choosing: bool) -> None:
        self.lanes, self.choosing = lanes, choosing
        self.G: defaultdict[Leaf, float] = defaultdict(float)

    @property
    def leader(self) -> Lane:
        """The lane whose prediction is used."""
        return min(self.lanes, key=lambda lane: lane.recent)

    def foresee(self, x: Float64, leaves: list[Leaf], limits: Limits) -> float:
        """Predict ŷ for a row without learning it."""
        return limits.limit(self.leader.foresee(x, leaves))

    def learn(
        self,
        x: Float64,
        leaves: list[Leaf],
        y: float,
        h: float,
        pace: float,
        limits: Limits,
        coupled: Coupled | None = None,
    ) -> tuple[float, float]:
        """Learn one row; return the leader's ŷ and slope.

        Under a softmax ŷ is a margin, and all heads have one loss.
        """
        leader = self.leader
        seen = [lane.observe(x, leaves, h) for lane in self.lanes]
        p = [limits.limit(row.p) for row in seen]
        if coupled is not None:
            p = [own + offset for own, offset in zip(p, coupled.offsets, strict=True)]
        loss, said = leader.terms.loss, p[self.lanes.index(leader)]
        slope = loss.slope(said, y)
        self.move(seen, p, slope, leaves, y, h, pace)
        self.count([loss.value(own, y) for own in p] if coupled is None else coupled.losses, h)
        return said, slope

    def move(
        self, seen: list[Seen], p: list[float], slope: float, leaves: list[Leaf], y: float, h: float, pace: float
    ) -> None:
        """All lanes learn a row that they have seen; `slope`: the leader's."""
        for leaf in leaves:
            self.G[leaf] += h * slope**2
        for lane, row, own in zip(self.lanes, seen, p, strict=True):
            lane.step(row, own, y, h, pace, {leaf: self.G[leaf] for leaf in leaves})

    def count(self, losses: list[float], h: float) -> None:
        """Add the losses of a row, by lane, to the scores by which rates are chosen."""
        if not self.choosing:
            return
        leading = h * losses[self.lanes.index(self.leader)]
        for lane, loss in zip(self.lanes, losses, strict=True):
            value = h * loss
            lane.loss += value
            lane.recent = lane.recent * (1 - h / (lane.terms.t - lane.began_t)) + value
            lane.gap += value - leading
            lane.square += (value - leading) ** 2

    def divide(self, division: Division, kick: tuple[float, float]) -> None:
        """Both halves get the weight and their share of G; a first division shares the G of the bias."""
        leaf, right = division.leaf, division.right
        if division.first:
            bias = self.leader.terms.G
            self.G[leaf] = float(bias[0]) if len(bias) and adaptive(self.leader.terms) else 0.0
        self.G[right] = (1 - division.share) * self.G[leaf]
        self.G[leaf] *= division.share
        for lane in self.lanes:
            lane.w[right] = lane.w[leaf] + kick[1]
            lane.w[leaf] += kick[0]

    def look(self, examples: int) -> None:
        """At powers of two, drop the rates that have lost; at every look, restore the neighbors of the leader."""
        dropping = examples & (examples - 1) == 0
        leader, there = self.leader, {lane.rate: lane for lane in self.lanes}
        near = {rate for rate in range(leader.rate - 1, leader.rate + 2) if 0 <= rate < len(AUTO_RATES)}
        kept = [
            (rate, there.get(rate, leader))
            for rate in sorted(near | set(there))
            if rate in near or not (dropping and there[rate].lost())
        ]
        if dropping:
            for lane in self.lanes:
                lane.total_gap, lane.total_square = lane.total_gap + lane.gap, lane.total_square + lane.square
                lane.gap = lane.square = 0.0
        self.lanes = [lane if lane.rate == rate else anew(lane, rate) for rate, lane in kept]


def anew(leader: Lane, rate: int) -> Lane:
    """Make another rate with the state of the leader."""
    lane = copy.deepcopy(leader)
    lane.rate, lane.eta = rate, AUTO_RATES[rate]
    return lane


def is_look(examples: int) -> bool:
    """Whether rates are compared: at 1,024 examples, and from then on at eighths of powers of two."""
    if examples <= 1024:
        return examples == 1024
    step = (1 << ((examples - 1).bit_length() - 1)) // 8
    return examples % step == 0


def ends_block(rows: int) -> bool:
    """Whether a block ends after these rows: a block has at most a 64th of the rows before it, and at most 128."""
    before = rows - 1
    length = min(max(2 ** (before.bit_length() - 1) // 64, 1), 128) if before else 1
    return rows % length == 0


@dataclass
class Limits:
    """The range of the labels so far, if predictions are limited to it."""

    on: bool
    low: float = math.inf
    high: float = -math.inf

    def limit(self, p: float) -> float:
        """Limit a prediction to the range."""
        return min(max(p, self.low), self.high) if self.on and self.low <= self.high else p


class Member:
    """One model over linear terms and, depending on its type, leaves of curves and trees; it has a head for each class.

    `coupled`: the heads share a softmax.
    """

    def __init__(
        self, heads: list[Head], curved: bool, trees: Trees | None, kick: float, coupled: bool = False
    ) -> None:
        self.heads, self.curved, self.trees, self.kick, self.coupled = heads, curved, trees, kick, coupled
        self.advantage = Advantage()
        self.began_examples, self.began_t = 0, 0.0
        self.mass = 0.0  # of all rows

    def relative(self, h: float, examples: int) -> float:
        """The weight of a row, divided by the mean since the member began anew."""
        return h * ((examples - self.began_examples) / (self.mass - self.began_t))

    def count_loss(self, p: Float64, y: float, loss: reference.Loss, classes: int, h: float) -> None:
        """Count a row that was learned."""
        if not self.curved:
            return
        if isinstance(loss, reference.Squared) and not classes:
            self.advantage.add_number(y, float(loss.value(p[0], y)), h)
        elif isinstance(loss, reference.Logistic) and classes:
            self.advantage.add_class(int(y), float(loss.value(p[int(y)], 1.0)), h)
        elif isinstance(loss, reference.Logistic):
            self.advantage.add_class(int(y > 0), float(loss.value(p[0], y)), h)

    def end_block(self) -> None:
        """Divide leaves of trees."""
        for split in self.trees.end_block() if self.trees else ():
            for number, head in enumerate(self.heads):
                stay, go = split.means.get(number, (0.0, 0.0))
                head.divide(split, (self.kick * stay, self.kick * go))

    def restart(self, fresh: Sequence[Head], examples: int) -> None:
        """Forget all but the scales, and some of the G of the leaves of curves. Count rows from now on."""
        kept_rows = 512.0  # half a window of each of the most leaves that a curve has
        self.advantage.now = self.advantage.highest = 0.0
        for old, new in zip(self.heads, fresh, strict=True):
            terms = old.lanes[0].terms
            kept = min(1.0, kept_rows / (terms.t - self.began_t))
            new.G.update({leaf: G * kept for leaf, G in old.G.items() if leaf[0] == "curve"})
            for lane in new.lanes:
                lane.terms.t, lane.terms.N, lane.terms.s = terms.t, terms.N, terms.s.copy()
                lane.terms.w, lane.terms.G = np.zeros_like(terms.w), np.zeros_like(terms.G)
                lane.began_t, lane.began_N = terms.t, terms.N
        self.began_examples, self.began_t = examples, terms.t
        self.heads = list(fresh)
        if self.trees:
            self.trees.restart()

    def find(self, raw: Float64, curve_leaves: list[Leaf]) -> tuple[list[Node], list[Leaf]]:
        """The leaves of a row."""
        nodes = self.trees.find(raw) if self.trees else []
        leaves = list(curve_leaves) if self.curved else []
        return nodes, leaves + (self.trees.leaves(nodes) if self.trees else [])

    def foresee(self, x: Float64, raw: Float64, curve_leaves: list[Leaf], limits: Limits) -> Float64:
        """Predict a row without learning it."""
        _, leaves = self.find(raw, curve_leaves)
        said = [head.foresee(x, leaves, limits) for head in self.heads]
        return np.array([o - against(said, k) for k, o in enumerate(said)] if self.coupled else said)

    def couple(self, x: Float64, leaves: list[Leaf], y: int) -> list[Coupled]:
        """The influence of the heads on each other in a row of class y."""
        outputs = np.array([[lane.foresee(x, leaves) for lane in head.lanes] for head in self.heads])
        offsets = [[-against(one, k) for one in outputs.T] for k in range(len(outputs))]
        losses = np.logaddexp(0.0, -(outputs[y] + offsets[y])).tolist()
        return [Coupled(own, losses) for own in offsets]


class Row(NamedTuple):
    """A row that is learned."""

    x: Float64  # linear terms, the bias first
    raw: Float64  # unchanged values
    text: Sequence[bool]
    y: Float64  # by head
    h: float
    pace: float
    examples: int  # including this row


def learn_by_some(
    heads: list[Head], row: Row, leaves: list[Leaf], limits: Limits
) -> tuple[list[tuple[float, float]], set[int]]:
    """A row for many heads. Gives ŷ of each head's leader and its slope, and the numbers of the active groups.

    Heads are in groups of eight. A group is active if the slope of one of its heads is above 1/256 of the largest
    slope; the others do not learn the row. All heads share their rates: the loss of a rate is the sum over active
    heads.
    """
    leading = heads[0].lanes.index(heads[0].leader)
    seen = [[lane.observe(row.x, leaves, row.h) for lane in head.lanes] for head in heads]
    p = [[limits.limit(one.p) for one in own] for own in seen]
    labels, loss = row.y.tolist(), heads[0].leader.terms.loss
    slopes = [loss.slope(own[leading], y) for own, y in zip(p, labels, strict=True)]
    limit = 2.0**-8 * max(map(abs, slopes))
    active = {number // WATCHED for number, slope in enumerate(slopes) if abs(slope) > limit}
    learning = [number for number in range(len(heads)) if number // WATCHED in active]
    for k in learning:
        heads[k].move(seen[k], p[k], slopes[k], leaves, labels[k], row.h, row.pace)
    losses = [sum(loss.value(p[k][rate], labels[k]) for k in learning) for rate in range(len(heads[0].lanes))]
    for head in heads:
        head.count(losses, row.h)
    return [(own[leading], slope) for own, slope in zip(p, slopes, strict=True)], active


def learn_row(member: Member, row: Row, curve_leaves: list[Leaf], cuts: list[Division], limits: Limits) -> Float64:
    """Learn a row with a member, after curves were cut; return the predictions by head."""
    member.mass += row.h
    nodes, leaves = member.find(row.raw, curve_leaves)
    others: list[Coupled | None] = [None] * len(member.heads)
    active: set[int] | None = None
    if member.coupled:
        others = [*member.couple(row.x, leaves, int(np.argmax(row.y)))]
    if member.curved and not member.coupled and len(member.heads) > FEW:
        results, active = learn_by_some(member.heads, row, leaves, limits)
    else:
        results = [
            head.learn(row.x, leaves, float(y), row.h, row.pace, limits, coupled)
            for head, y, coupled in zip(member.heads, row.y, others, strict=True)
        ]
    for cut in cuts if member.curved else ():
        for head in member.heads:
            head.divide(cut, (0.0, 0.0))
    if member.trees:
        residuals = np.array([-slope for _, slope in results])
        member.trees.learn(nodes, row.raw, row.text, residuals, member.relative(row.h, row.examples), active)
    for head in member.heads:
        if head.choosing and is_look(row.examples - member.began_examples):
            head.look(row.examples - member.began_examples)
    return np.array([p for p, _ in results])


# ------------------------------------------------------------------------------------------------------------- learner


class Shaped:
    """A learner with a model type: members, and the mixture of their predictions.

    A row has unchanged values, NaN where a value is missing. `text` marks the columns of text: their values are codes
    that are equal where the texts are equal. `classes` is the number of classes; labels are their numbers. `limited`:
    predictions stay within the labels so far, as they do with a target, or between -1 and 1 for classes. `coupled`:
    classes share a softmax; the loss is logistic.
    """

    def __init__(
        self,
        shape: Literal["linear", "curves", "trees", "curves only"] = "trees",
        rule: str = "nag",
        loss: reference.Loss | None = None,
        rate: float | Literal["auto"] = 0.5,
        *,
        classes: int = 0,
        target: bool = False,
        limited: bool = False,
        center: bool = False,
        falling_scales: bool = False,
        aware: bool = True,
        coupled: bool = False,
        text: Sequence[bool] = (),
        n_trees: int = 64,
        max_leaves: int = 256,
        tree_patience: int = 0,
        sparsity: float = 0.0,
        l2: float = 0.0,
    ) -> None:
        self.penalties = sparsity, l2
        self.loss = loss or reference.Squared()
        self.rule, self.rate, self.aware = rule, rate, aware
        self.classes, self.target, self.center, self.text = classes, target, center, text
        self.windows = falling.Windows() if falling_scales else None
        self.linear_numbers = shape != "curves only"
        # A mean residual divided by the loss's largest curvature is the distance that the predictions of a leaf should
        # move; each tree moves them by its part. The residual is the slope: for squared loss 2(y - p).
        squared, logistic = isinstance(self.loss, reference.Squared), isinstance(self.loss, reference.Logistic)
        kick = (0.5 if squared else 4.0 if logistic else 0.0) / n_trees
        kinds = {"linear": ["l"], "curves": ["l", "c"], "trees": ["l", "c", "t"], "curves only": ["c"]}[shape]
        self.members = [
            Member(
                [self._head() for _ in range(classes or 1)],
                kind != "l",
                Trees(classes or 1, classes > 0, (n_trees, max_leaves, tree_patience)) if kind == "t" else None,
                kick,
                coupled,
            )
            for kind in kinds
        ]
        kind = "classes" if logistic and classes else "logistic" if logistic else "squared" if squared else "other"
        self.mixing = "other" if squared and classes else kind
        self.mixture = Mixture(self.mixing, len(kinds))
        self.curves, self.limits = (
            Curves(),
            Limits(True, -1.0, 1.0) if limited and classes else Limits(target or limited),
        )
        self.codes: dict[tuple[int, float], int] = {}  # of text: columns of indicators
        self.means, self.masses = np.zeros(0), np.zeros(0)
        self.examples, self.t = 0, 0.0
        self.curved = False  # a row that was learned has had leaves of curves
        self.first: float | None = None  # of the labels
        self.square = 0.0

    def _head(self) -> Head:
        def lane(number: int, eta: float) -> Lane:
            return Lane(number, eta, published.RULES[self.rule](eta, self.loss, self.aware), self.penalties)

        if self.rate != "auto":
            return Head([lane(0, self.rate)], choosing=False)
        return Head([lane(k, AUTO_RATES[k]) for k in range(AUTO_START[0], AUTO_START[1] + 1)], choosing=True)

    def terms(self, raw: Float64, text: Sequence[bool], h: float) -> Float64:
        """The linear terms: the bias, columns of numbers (centered if requested), and indicators of texts."""
        more = len(raw) - len(self.means)
        self.means, self.masses = np.append(self.means, np.zeros(more)), np.append(self.masses, np.zeros(more))
        numbers = ~np.isnan(raw) & ~np.array(text, dtype=bool)
        x = np.where(numbers, raw, 0.0)
        if self.center:
            distance = np.where(numbers, x - self.means, 0.0)
            x = distance - distance / (self.masses + 1)
            if h > 0:
                self.masses = self.masses + np.where(numbers, h, 0.0)
                self.means = self.means + distance * h / np.where(self.masses > 0, self.masses, 1.0)
        met = [(j, float(raw[j])) for j in range(len(raw)) if text[j] and not math.isnan(raw[j])]
        known = self.codes if h > 0 else dict(self.codes)
        for code in met:
            known.setdefault(code, len(known))
        indicators = np.zeros(len(known))
        indicators[[known[code] for code in met]] = 1.0
        # Places of columns and texts must not depend on their numbers so far: columns have odd places, texts even ones.
        both = np.zeros(2 * max(len(x), len(indicators)))
        if self.linear_numbers:
            both[0 : 2 * len(x) : 2] = x
        both[1 : 2 * len(indicators) : 2] = indicators
        return np.append(1.0, both)

    def learn_one(self, values: Any, y: float, h: float = 1.0) -> Float64:
        """Predict a row, by class if there are classes, then learn it. A weight of 0 changes nothing."""
        raw = np.asarray(values, dtype=np.float64)
        text = [j < len(self.text) and bool(self.text[j]) for j in range(len(raw))]
        x, known = self.terms(raw, text, h), self.first is not None
        curve_leaves = self.curves.find(raw, text)
        if not h > 0:
            members = np.array([member.foresee(x, raw, curve_leaves, self.limits) for member in self.members])
            return self._with_offset(self.mixture.say(self._agreed(members)), known)
        self.examples, self.t = self.examples + 1, self.t + h
        pace = 1.0
        if self.target:
            self.first = y if self.first is None else self.first
            y -= self.first
            self.square += h * y * y
            # A plain step that adapts to the label needs no pace.
            own = isinstance(self.loss, reference.Squared) and self.rule in ("gd", "ng")
            pace = 1.0 if own else math.sqrt(self.square / self.t)
        negative = 0.0 if isinstance(self.loss, reference.Poisson) else -1.0
        labels = np.where(np.arange(self.classes) == y, 1.0, negative) if self.classes else np.array([y])
        relative = h * (self.examples / self.t)
        row = Row(x, raw, text, labels, h, pace, self.examples)
        cuts = self.curves.learn(raw, self.examples)
        members = np.array([learn_row(member, row, curve_leaves, cuts, self.limits) for member in self.members])
        learned = members.copy()
        said = self.mixture.say(self._agreed(members))
        self.curved = self.curved or len(curve_leaves) > 0
        losses = [
            sum(self.loss.value(float(p), float(label)) for p, label in zip(own, labels, strict=True))
            for own in members
        ]
        self.mixture.learn(members, y, relative, np.array(losses))
        self._end_blocks(learned, y, h)
        if not self.classes:
            self.limits.low, self.limits.high = min(self.limits.low, y), max(self.limits.high, y)
        if self.windows is not None:
            self.windows.add(np.where(text, np.nan, raw), h)
            if self.examples % falling.LENGTH == 0:
                self._end_windows(self.windows)
        return self._with_offset(said, known)

    def _end_blocks(self, p: Float64, y: float, h: float) -> None:
        """Let members begin anew that have become worse than a constant, and forget how good members were; at the ends
        of blocks let trees divide leaves."""
        for member, own in zip(self.members, p, strict=True):
            member.count_loss(own, y, self.loss, self.classes, member.relative(h, self.examples))
            if not member.curved:
                continue
            if member.advantage.is_lost():
                member.restart([self._head() for _ in member.heads], self.examples)
                self.mixture.restart()
            elif ends_block(self.examples - member.began_examples):
                member.end_block()

    def _end_windows(self, windows: falling.Windows) -> None:
        """All lanes have the same scales; column j is in place 1 + 2j of the terms."""
        algorithms = [lane.terms for member in self.members for head in member.heads for lane in head.lanes]

        def scales() -> Float64:
            return algorithms[0].unit()[1 : 1 + 2 * len(self.means) : 2]

        fallen = windows.end(scales(), self.means)
        for j, (mean, weight, *deviations) in fallen.items():
            for algorithm in algorithms:
                falling.lower(algorithm, 1 + 2 * j, *deviations)
            self.means[j], self.masses[j] = mean, weight
        windows.begin(scales(), fallen)

    def _agreed(self, members: Float64) -> Float64:
        """While the linear member and the next differ only by rounding, make them equal, since rounding would affect
        losses."""
        if len(members) > 1 and not self.curved:
            members[0] = members[1]
        return members

    def _with_offset(self, said: Float64, known: bool) -> Float64:
        if not self.target:
            return said
        return said + self.first if known and self.first is not None else np.zeros_like(said)

    def run(self, X: Any, y: Any, weight: Any = None) -> Float64:
        """The progressive predictions over rows in order, [row, class]."""
        weights = np.ones(len(y)) if weight is None else weight
        rows = zip(X, y, weights, strict=True)
        return np.array([self.learn_one(x, float(label), float(h)) for x, label, h in rows])

"""The trees that shards of a round have grown out of the same ones, brought together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64
from .merged_shape import Heads, Indices, Leaves
from .shape_reading import TREE_LEAVES, TREES

PICK, FINE, STATS, EVIDENCE, GROW = "leaves", "full", "sum", "total", "no"
KICK = 0.0
_FACTS = 6
_TREE = np.arange(TREES)[:, None]


class Forest:
    """Trees as their history: split f of a tree has cut leaf `origin` in two, and the right half is leaf f."""

    def __init__(self, shape: dict[str, Any], heads: Heads | None, leaves: Leaves, renumber: Any) -> None:
        self.shape, self.leaves = shape, leaves
        self.exists = len(shape.get("tree.sizes", ())) > 0
        self.origin = np.zeros((TREES, TREE_LEAVES), np.intp)
        self.low, self.high = np.zeros((2, TREES, TREE_LEAVES))
        self.column = np.zeros((TREES, TREE_LEAVES), np.intp)
        self.sizes = np.ones(TREES, np.intp)
        self.candidates, self.unit, self.width = 0, 0.0, 0
        self.random = np.zeros((TREES, 2))
        if not self.exists:
            return
        self.sizes = shape["tree.sizes"].astype(np.intp)
        self.candidates, self.unit = int(shape["tree.candidates"][0]), float(shape["tree.candidates"][1])
        self.random = shape["tree.random"].reshape(TREES, 2)
        self.width = len(shape["tree.sums"]) // int(self.sizes.sum())
        self.same_heads = heads is None or bool((heads.heads == np.arange(len(heads.heads))).all())
        counts = 2 * self.sizes - 1
        tree = np.repeat(np.arange(TREES), counts)
        node = np.arange(len(tree)) - np.repeat(np.cumsum(counts) - counts, counts)
        child = shape["tree.child"].astype(np.intp)
        inner = np.flatnonzero(child != node)
        t, f = tree[inner], (child[inner] + 1) // 2
        column, low, high = (shape[f"tree.{name}"][inner].copy() for name in ("column", "low", "high"))
        renumber(column, low, high)
        self.origin[t, f] = shape["tree.place"][inner].astype(np.intp)
        self.low[t, f], self.high[t, f], self.column[t, f] = low, high, column.astype(np.intp)
        self.first_leaf = np.cumsum(self.sizes) - self.sizes
        growing = np.where(self.sizes < TREE_LEAVES, self.sizes, 0)
        self.first_growing = np.cumsum(growing) - growing
        self.renumber = renumber

    def regions(self, first: Indices) -> Indices:
        """By tree and leaf: which of the first leaves of its tree it has come from."""
        region = np.where(np.arange(TREE_LEAVES) < first[:, None], np.arange(TREE_LEAVES), -1)
        for f in range(1, int(self.sizes.max())):
            new = (f >= first) & (f < self.sizes)
            region[new, f] = region[new, self.origin[new, f]]
        return region

    def facts(self, t: Indices, p: Indices, unit: float) -> tuple[Float64, Float64]:
        at = self.first_leaf[t] + p
        ratio = self.unit / unit if unit > 0 else 1.0
        facts = self.shape["tree.facts"].reshape(-1, _FACTS)[at]
        facts[:, 1] *= ratio * ratio
        return facts, self.shape["tree.sums"].reshape(-1, self.width)[at] * ratio

    def watched(self, t: Indices, p: Indices, unit: float) -> Float64:
        watched = self.shape["tree.watched"].reshape(-1, self.candidates, 3 + self.width)[self.first_growing[t] + p]
        ratio = self.unit / unit if unit > 0 else 1.0
        watched[:, :, 3:] *= ratio
        column, low = watched[:, :, 1].ravel(), watched[:, :, 0].ravel()
        self.renumber(column, low, np.full(len(low), np.inf))
        watched[:, :, 1], watched[:, :, 0] = column.reshape(watched.shape[:2]), low.reshape(watched.shape[:2])
        return watched


def _by_region(values: Float64, region: Indices, used: NDArray[np.bool_]) -> Float64:
    total = np.zeros((TREES * TREE_LEAVES, *values.shape[1:]))
    np.add.at(total, region[used], values[used])
    return total


def merged_trees(base: Forest, parts: list[Forest], of_lane: Indices, groups: int, merged: Leaves) -> dict[str, Any]:
    names = ("sizes", "random", "low", "high", "column", "child", "place", "facts", "sums", "watched")
    heard = [one for one in parts if one.exists]
    if not heard:
        return {"tree.candidates": np.zeros(2), **{f"tree.{name}": np.zeros(0) for name in names}}
    count = TREES * TREE_LEAVES
    first = base.sizes
    W = len(heard)
    region, used, n, G, R, wbar = [], [], [], [], [], []
    for one in heard:
        own = one.regions(first)
        flat = (_TREE * TREE_LEAVES + own).ravel()
        is_leaf = (np.arange(TREE_LEAVES) < one.sizes[:, None]).ravel()
        region.append(np.where(is_leaf, flat, 0))
        used.append(is_leaf)
        n.append(np.bincount(flat[is_leaf], minlength=count))
        G.append(_by_region(one.leaves.evidence[:count], flat, is_leaf))
        rows = one.leaves.rows[:count] + 1e-9
        R.append(_by_region(rows, flat, is_leaf))
        share = rows / R[-1][np.where(is_leaf, flat, 0)]
        wbar.append(_by_region(one.leaves.weights[:count] * share[:, None], flat, is_leaf))
    G_b, w_b, R_b = base.leaves.evidence[:count], base.leaves.weights[:count], base.leaves.rows[:count]
    gains = [np.maximum(one - G_b, 0.0) for one in G]
    gained = np.sum(gains, axis=0)
    pi = [np.divide(g, gained, out=np.full_like(g, 1.0 / W), where=gained > 0) for g in gains]  # [region][head]
    m = w_b + sum(p[:, of_lane] * (w - w_b) for p, w in zip(pi, wbar, strict=True))
    if EVIDENCE == "total":
        E = G_b + sum(p * g for p, g in zip(pi, gains, strict=True))
    else:
        E = G_b + gained / W
    Rm = R_b + sum(r - R_b for r in R) / W
    # pick
    turn = int(base.random.sum()) if base.exists else 0
    s = np.repeat((np.arange(TREES) // groups + turn) % W, TREE_LEAVES)
    if PICK != "turn":
        score = np.array([g.sum(axis=1) if PICK == "gain" else c + 0.0 for g, c in zip(gains, n, strict=True)])
        best = np.argmax(score, axis=0)
        best = np.where(score.max(axis=0) > score[s, np.arange(count)], best, s)
        chosen = np.array(n)[best, np.arange(count)].reshape(TREES, -1).sum(axis=1)
        s = np.where(np.repeat(chosen <= TREE_LEAVES, TREE_LEAVES), best, s)
    split = np.array([np.sum([p * (c > 1)[:, None] for p, c in zip(pi, n, strict=True)], axis=0)])[0]  # share that split
    # histories
    sizes = first.copy()
    place = np.zeros((W, TREES, TREE_LEAVES), np.intp)
    origin, low, high, column = base.origin.copy(), base.low.copy(), base.high.copy(), base.column.copy()
    place[:] = np.arange(TREE_LEAVES)
    takes = np.array([s[region[i]].reshape(TREES, TREE_LEAVES) == i for i in range(W)])
    for f in range(1, TREE_LEAVES):
        for i, one in enumerate(heard):
            new = np.flatnonzero((f >= first) & (f < one.sizes) & takes[i, :, f])
            if not len(new):
                continue
            to = sizes[new]
            place[i, new, f] = to
            origin[new, to] = place[i, new, one.origin[new, f]]
            low[new, to], high[new, to], column[new, to] = one.low[new, f], one.high[new, f], one.column[new, f]
            sizes[new] += 1
    # leaves
    unit = max(one.unit for one in heard)
    candidates = max(one.candidates for one in heard)
    width = heard[0].width
    facts = np.zeros((TREES, TREE_LEAVES, _FACTS))
    sums = np.zeros((TREES, TREE_LEAVES, width))
    watched = np.zeros((TREES, TREE_LEAVES, candidates, 3 + width))
    facts[:, :, 3] = 24
    for i, one in enumerate(heard):
        mine = np.flatnonzero(used[i] & takes[i].ravel())
        t, p = np.divmod(mine, TREE_LEAVES)
        to = t * TREE_LEAVES + place[i].ravel()[mine]
        r = region[i][mine]
        fine = one.leaves.weights[mine] - wbar[i][r]
        if FINE == "scaled":
            fine = fine * split[r][:, of_lane]
        merged.weights[to] = m[r] + fine
        merged.evidence[to] = np.divide(one.leaves.evidence[mine] * E[r], G[i][r], out=np.zeros((len(mine), E.shape[1])), where=G[i][r] > 0)
        merged.rows[to] = (one.leaves.rows[mine] + 1e-9) * Rm[r] / R[i][r]
        alone = np.flatnonzero(sizes == 1)
        own_facts, own_sums = one.facts(t, p, unit)
        grows = one.sizes[t] < TREE_LEAVES
        ok = np.flatnonzero(grows)
        if one.same_heads and one.candidates == candidates:
            facts[t[ok], place[i].ravel()[mine][ok]] = own_facts[ok]
            sums[t[ok], place[i].ravel()[mine][ok]] = own_sums[ok]
            watched[t[ok], place[i].ravel()[mine][ok]] = one.watched(t[ok], p[ok], unit)
    zero = np.repeat(sizes == 1, TREE_LEAVES)
    merged.weights[:count][zero] = 0.0
    merged.evidence[:count][zero] = 0.0
    merged.rows[:count][zero] = 0.0
    if STATS == "sum":
        _add_statistics(base, heard, n, s, first, sizes, facts, sums, watched, unit, candidates)
    if GROW != "no":
        _grow(sizes, origin, low, high, column, facts, sums, watched, unit, groups, of_lane, merged)
    random = np.array([heard[k].random[t] for t, k in enumerate(s.reshape(TREES, -1)[:, 0])])
    return _saved(sizes, origin, low, high, column, facts, sums, watched, random, unit, candidates)


def _add_statistics(base: Any, heard: Any, n: Any, s: Any, first: Any, sizes: Any, facts: Any, sums: Any, watched: Any, unit: float, candidates: int) -> None:
    """Of leaves that nobody has split: sums of candidates that several have watched."""
    count = TREES * TREE_LEAVES
    is_region = (np.arange(TREE_LEAVES) < first[:, None]).ravel()
    alone = np.array(n)[s, np.arange(count)] == 1
    growing = np.repeat((sizes < TREE_LEAVES), TREE_LEAVES)
    for i, one in enumerate(heard):
        if not one.same_heads or one.candidates != candidates:
            continue
        at = np.flatnonzero(is_region & alone & growing & (n[i] == 1) & (s != i) & np.repeat(one.sizes < TREE_LEAVES, TREE_LEAVES))
        t, p = np.divmod(at, TREE_LEAVES)
        f, q = one.facts(t, p, unit)
        w = one.watched(t, p, unit)
        mine = watched[t, p]
        same = (f[:, 2] == 5) & (facts[t, p, 2] == 5) & (w[:, :, 0] == mine[:, :, 0]).all(axis=1) & (w[:, :, 1] == mine[:, :, 1]).all(axis=1)
        if base.exists:
            grew = base.sizes[t] < TREE_LEAVES
            fb, qb = base.facts(t, p, unit)
            wb = np.zeros_like(w)
            wb[grew] = base.watched(t[grew], p[grew], unit)
            shared = (fb[:, 2] == 5) & (wb[:, :, 0] == w[:, :, 0]).all(axis=1) & (wb[:, :, 1] == w[:, :, 1]).all(axis=1)
            f[:, [0, 1, 4]] -= np.where(shared[:, None], fb[:, [0, 1, 4]], 0)
            q = q - np.where(shared[:, None], qb, 0)
            w[:, :, 2:] -= np.where(shared[:, None, None], wb[:, :, 2:], 0)
        k = np.flatnonzero(same)
        facts[t[k][:, None], p[k][:, None], [0, 1, 4]] += np.maximum(f[k][:, [0, 1, 4]], 0)
        sums[t[k], p[k]] += q[k]
        watched[t[k], p[k], :, 2:] += w[k][:, :, 2:]


def _grow(sizes: Any, origin: Any, low: Any, high: Any, column: Any, facts: Any, sums: Any, watched: Any, unit: float, groups: int, of_lane: Any, merged: Any) -> None:
    is_leaf = np.arange(TREE_LEAVES) < sizes[:, None]
    due = is_leaf & (sizes < TREE_LEAVES)[:, None] & (sizes > 1)[:, None] & (facts[:, :, 2] == 5) & (facts[:, :, 4] >= facts[:, :, 3])
    t, p = np.nonzero(due)
    all_, square, S = facts[t, p, 0], facts[t, p, 1], sums[t, p]
    nR, sR = watched[t, p, :, 2], watched[t, p, :, 3:]
    nL = all_[:, None] - nR
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = (((S[:, None] - sR) * nR[:, :, None] - sR * nL[:, :, None]) ** 2).sum(axis=2)
        gain = np.where((nR > 0) & (nL > 0), apart / (nL * nR * all_[:, None]), -1.0)
    z = gain.argmax(axis=1)
    best = gain[np.arange(len(z)), z]
    yes = best > 2.5 * square / all_
    for k in range(len(t)):
        tree, leaf = t[k], p[k]
        f = facts[tree, leaf]
        if yes[k] and sizes[tree] < TREE_LEAVES:
            fresh = sizes[tree]
            sizes[tree] += 1
            c = watched[tree, leaf, z[k]]
            origin[tree, fresh] = leaf
            text = int(f[5]) >> int(z[k]) & 1
            low[tree, fresh] = c[0] - 0.5 if text else c[0]
            high[tree, fresh] = c[0] + 0.5 if text else np.inf
            column[tree, fresh] = int(c[1])
            a, b = tree * TREE_LEAVES + leaf, tree * TREE_LEAVES + fresh
            share = nL[k, z[k]] / all_[k]
            merged.weights[b] = merged.weights[a]
            merged.evidence[b], merged.rows[b] = (1 - share) * merged.evidence[a], (1 - share) * merged.rows[a]
            merged.evidence[a] *= share
            merged.rows[a] *= share
            first = tree % groups * sums.shape[2]
            head = of_lane - first
            ok = (head >= 0) & (head < sums.shape[2])
            h = np.where(ok, head, 0)
            stay, right = (S[k] - sR[k, z[k]]) / nL[k, z[k]] * unit, sR[k, z[k]] / nR[k, z[k]] * unit
            merged.weights[a] += np.where(ok, KICK / 64 * stay[h], 0.0)
            merged.weights[b] += np.where(ok, KICK / 64 * right[h], 0.0)
            if GROW == "inherit":
                watched[tree, fresh] = watched[tree, leaf]
                facts[tree, fresh] = f
                for q in (leaf, fresh):
                    watched[tree, q, :, 2:] = 0
                    facts[tree, q, [0, 1, 4]] = 0
                    facts[tree, q, 3] = 24
                    sums[tree, q] = 0
            else:
                for q in (leaf, fresh):
                    facts[tree, q] = [0, 0, 0, 24, 0, 0]
                    sums[tree, q] = 0
        elif not yes[k]:
            facts[tree, leaf] = [0, 0, 0, min(2 * f[3], 2**22), 0, 0]
            sums[tree, leaf] = 0


def _saved(sizes: Any, origin: Any, low: Any, high: Any, column: Any, facts: Any, sums: Any, watched: Any, random: Any, unit: float, candidates: int) -> dict[str, Any]:
    nodes = 2 * TREE_LEAVES - 1
    child = np.tile(np.arange(nodes), (TREES, 1))
    place = np.zeros((TREES, nodes), np.intp)
    lows, highs = np.full((TREES, nodes), np.inf), np.full((TREES, nodes), np.inf)
    columns = np.zeros((TREES, nodes), np.intp)
    node_of = np.zeros((TREES, TREE_LEAVES), np.intp)
    for f in range(1, int(sizes.max())):
        t = np.flatnonzero(f < sizes)
        leaf = origin[t, f]
        node = node_of[t, leaf]
        child[t, node] = 2 * f - 1
        lows[t, node], highs[t, node], columns[t, node] = low[t, f], high[t, f], column[t, f]
        place[t, 2 * f - 1], place[t, 2 * f] = leaf, f
        node_of[t, leaf], node_of[t, f] = 2 * f - 1, 2 * f
    is_node = np.arange(nodes) < (2 * sizes - 1)[:, None]
    is_leaf = np.arange(TREE_LEAVES) < sizes[:, None]
    growing = is_leaf & (sizes < TREE_LEAVES)[:, None]
    return {
        "tree.candidates": np.array([float(candidates), unit]),
        "tree.sizes": sizes.astype(np.float64),
        "tree.random": random.ravel(),
        "tree.low": lows[is_node],
        "tree.high": highs[is_node],
        "tree.column": columns[is_node].astype(np.float64),
        "tree.child": child[is_node].astype(np.float64),
        "tree.place": place[is_node].astype(np.float64),
        "tree.facts": facts[is_leaf].ravel(),
        "tree.sums": sums[is_leaf].ravel(),
        "tree.watched": watched[growing].ravel(),
    }

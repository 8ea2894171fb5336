"""The last ten minutes by the second and the last day by the minute, for the live page.

They are not part of the state of a stream: they are not written to disk, and a restart of the server clears them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

import msgspec

from .sse import Broadcast

SECONDS = 600  # number of seconds to remember
MINUTES = 1440  # number of minutes to remember
EXAMPLES = 50  # number of recent examples to remember
EXAMPLES_A_SECOND = 5
MOST_FEATURES = 200  # features of an example to remember
_PARTS = 8  # histogram classes per factor of two between delays: each is 9% wide
_CLOCK_STEP = 5  # seconds by which the clock may go back before the history is cleared


class Moment(msgspec.Struct, gc=False):
    """What happened in one second or in one minute."""

    time: int  # when it ended, seconds since 1970
    learned: int = 0  # rows
    predicted: int = 0  # rows
    loss: float | None = None  # mean over the champion's rows of this moment
    total_loss: float | None = None  # mean over all of the champion's rows until then
    error: float | None = None  # share of wrong classes in this moment; None for regression
    by_model: dict[str, float] = msgspec.field(default_factory=dict)  # the loss of each model in this moment
    delay_p50: float | None = None  # seconds from a prediction to its label
    delay_p99: float | None = None
    drift: float | None = None  # loss / total_loss
    scale_growth: int | None = None  # features whose scale grew
    random: float | None = None  # of a bandit, whose losses are rewards: the estimated values of simpler policies
    best_constant: float | None = None


class Example(msgspec.Struct, gc=False):
    """A row that was learned, and what was predicted before."""

    seq: int
    time: float  # seconds since 1970
    id: str | None
    features: Mapping[str, Any]
    label: Any
    prediction: Any
    score: Any
    loss: float | None
    model: str
    left_out: int = 0  # features that are not shown


class _Sums:
    """Sums over the rows of a moment."""

    __slots__ = ("by_model", "delays", "learned", "policies", "predicted", "scale_growth", "total_loss")

    def __init__(self) -> None:
        self.learned = self.predicted = 0
        self.by_model: dict[str, list[float]] = {}  # sums of loss, error, weight
        self.delays: dict[int, int] = {}  # counts by histogram class
        self.total_loss: float | None = None
        self.scale_growth: int | None = None
        self.policies: tuple[float | None, float | None] = (None, None)

    def __bool__(self) -> bool:
        return bool(self.learned or self.predicted or self.by_model or self.delays)

    def add(self, other: _Sums) -> None:
        self.learned += other.learned
        self.predicted += other.predicted
        for model, more in other.by_model.items():
            sums = self.by_model.setdefault(model, [0.0, 0.0, 0.0])
            sums[:] = (a + b for a, b in zip(sums, more, strict=True))
        for key, count in other.delays.items():
            self.delays[key] = self.delays.get(key, 0) + count
        if other.total_loss is not None:
            self.total_loss, self.policies = other.total_loss, other.policies
        if other.scale_growth is not None:
            self.scale_growth = (self.scale_growth or 0) + other.scale_growth

    def moment(self, time: int, champion: str) -> Moment:
        loss, error, weight = self.by_model.get(champion, (0.0, 0.0, 0.0))
        mean = _ratio(loss, weight)
        return Moment(
            time,
            self.learned,
            self.predicted,
            mean,
            self.total_loss,
            _ratio(error, weight),
            {name: ratio for name, sums in self.by_model.items() if (ratio := _ratio(sums[0], sums[2])) is not None},
            _quantile(self.delays, 0.5),
            _quantile(self.delays, 0.99),
            _ratio(mean, self.total_loss) if mean is not None and self.total_loss is not None else None,
            self.scale_growth,
            *self.policies,
        )


class Moments:
    """The recent past of a stream. The live stream reports its rows here and calls `tick` once a second.

    Args:
        champion: the model whose losses are `loss`, `total_loss`, `error` and `drift`; set it when one is promoted.
    """

    def __init__(self, champion: str) -> None:
        self.champion = champion
        self.broadcast = Broadcast()
        self.wants_example = True  # check it before calling `example`: rows that are not shown then cost nothing
        self._sums, self._minute = _Sums(), _Sums()
        self._seconds: deque[Moment] = deque(maxlen=SECONDS)  # without empty seconds
        self._minutes: deque[Moment] = deque(maxlen=MINUTES)
        self._recent: deque[Example] = deque(maxlen=EXAMPLES)
        self._shown = 0  # examples of this second
        self._now = 0  # the second of the last tick; 0 before the first tick
        self._first = 0  # the second of the first tick

    def learned(self, model: str, n: int, loss_sum: float, error_sum: float, weight_sum: float) -> None:
        """Add n learned rows of a model. Sums are weighted; `error_sum` is NaN for regression."""
        now = self._sums
        if model == self.champion:
            now.learned += n
        sums = now.by_model.get(model)
        if sums is None:
            now.by_model[model] = [loss_sum, error_sum, weight_sum]
            return
        sums[0] += loss_sum
        sums[1] += error_sum
        sums[2] += weight_sum

    def predicted(self, n: int) -> None:
        """Add n predicted rows."""
        self._sums.predicted += n

    def labeled_after(self, seconds: float) -> None:
        """Add the delay between a prediction and its label."""
        key = math.floor(math.log2(seconds if seconds > 1e-6 else 1e-6) * _PARTS)
        delays = self._sums.delays
        delays[key] = delays.get(key, 0) + 1

    def example(
        self,
        *,
        seq: int,
        time: float,
        id: str | None,
        features: Mapping[str, Any],
        label: Any,
        prediction: Any,
        score: Any,
        loss: float | None,
        model: str,
    ) -> None:
        """Add a row for people to look at; at most five per second are shown."""
        if not self.wants_example:
            return
        self._shown += 1
        self.wants_example = self._shown < EXAMPLES_A_SECOND
        left_out = max(len(features) - MOST_FEATURES, 0)
        kept = dict(islice(features.items(), MOST_FEATURES)) if left_out else features
        shown = Example(seq, time, id, kept, label, prediction, score, loss, model, left_out)
        self._recent.append(shown)
        self.broadcast.send("example", shown)

    def tick(
        self,
        now: float,
        total_loss: float | None = None,
        scale_growth: int | None = None,
        standing: Callable[[], Mapping[str, Any]] | None = None,
        policies: tuple[float | None, float | None] = (None, None),
    ) -> None:
        """End a second.

        Args:
            now: seconds since 1970.
            total_loss: the champion's progressive loss.
            scale_growth: how many of its scales grew since the last tick.
            standing: returns the state of the stream (examples, waiting labels, lag, models), which becomes the field
                "now" of the moment; called only if the events have readers.
            policies: of a bandit: the estimated values of random actions, and of the best constant one.
        """
        second = int(now)
        if second <= self._now:
            if second >= self._now - _CLOCK_STEP:
                return  # the sums belong to the next second
            self._forget()
        self._first = self._first or second
        minute = (self._now + 59) // 60 * 60  # the end of the minute of the last tick
        if second > minute:
            self._end_minute(minute)
        self._now = second
        sums, self._sums = self._sums, _Sums()
        sums.total_loss, sums.scale_growth, sums.policies = total_loss, scale_growth, policies
        moment = sums.moment(second, self.champion)
        if sums or scale_growth:
            self._minute.add(sums)
            self._seconds.append(moment)
        if second % 60 == 0:
            self._end_minute(second)
        self._shown, self.wants_example = 0, True
        if self.broadcast.has_readers:
            sent = msgspec.to_builtins(moment)
            self.broadcast.send("moment", {**sent, "now": standing()} if standing is not None else sent)

    def _end_minute(self, end: int) -> None:
        if self._minute:
            self._minutes.append(self._minute.moment(end, self.champion))
            self._minute = _Sums()

    def _forget(self) -> None:
        self._seconds.clear()
        self._minutes.clear()
        self._minute = _Sums()
        self._now = self._first = 0

    def seconds(self) -> list[Moment]:
        """The seconds of the last ten minutes since the server started, oldest first."""
        return _without_gaps(self._seconds, max(self._first, self._now - SECONDS + 1), self._now, 1)

    def minutes(self) -> list[Moment]:
        """The full minutes of the last day since the server started, oldest first."""
        last = self._now // 60 * 60
        return _without_gaps(self._minutes, max((self._first + 59) // 60 * 60, last - (MINUTES - 1) * 60), last, 60)

    def kept(self) -> dict[str, list[Moment]]:
        """The remembered seconds and minutes."""
        return {"seconds": self.seconds(), "minutes": self.minutes()}

    def recent(self) -> list[Example]:
        """The recent examples, newest first."""
        return list(reversed(self._recent))

    def models_changed(self, models: Any) -> None:
        """Send the models to the readers of events: one joined, left or was promoted."""
        self.broadcast.send("models", {"models": models})

    def note(self, text: str) -> None:
        """Send a message to the readers of events."""
        self.broadcast.send("note", {"text": text})

    def close(self) -> None:
        """End all connections of readers."""
        self.broadcast.close()


def until_next_tick(now: float) -> float:
    """Seconds until the next full second. Ticks are just after full seconds, so that each second has one."""
    return 1.005 - now % 1.0


def _ratio(part: float, whole: float) -> float | None:
    ratio = part / whole if whole > 0 else math.nan
    return ratio if math.isfinite(ratio) else None


def _quantile(delays: Mapping[int, int], q: float) -> float | None:
    """The geometric middle of the histogram class that contains the quantile."""
    still = q * sum(delays.values())
    for key in sorted(delays):
        still -= delays[key]
        if still <= 0:
            return float(2.0 ** ((key + 0.5) / _PARTS))
    return None


def _without_gaps(kept: deque[Moment], first: int, last: int, step: int) -> list[Moment]:
    """Moments from first to last, with empty ones for seconds or minutes without rows."""
    found = {moment.time: moment for moment in kept if first <= moment.time}
    before, moments = Moment(0), []
    for time in range(first, last + 1, step) if last else ():
        total, random, best = before.total_loss, before.random, before.best_constant
        before = found.get(time) or Moment(time, total_loss=total, random=random, best_constant=best)
        moments.append(before)
    return moments

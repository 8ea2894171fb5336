"""The last ten minutes by the second and the last day by the minute, for people who look at a stream.

They are not part of the stream's state: nothing of them is written to disk, and a server that starts again begins anew.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

import msgspec

from .sse import Broadcast

SECONDS = 600  # moments of a second that are kept
MINUTES = 1440  # moments of a minute that are kept
EXAMPLES = 50  # recent examples that are kept
EXAMPLES_A_SECOND = 5
MOST_FEATURES = 200  # features of an example that are kept
_PARTS = 8  # a factor of two between delays is cut into so many classes: each is 9 % wide
_CLOCK_STEP = 5  # seconds by which the clock may go back before the history is begun anew


class Moment(msgspec.Struct, gc=False):
    """What happened in one second or in one minute."""

    time: int  # when it ended, seconds since 1970
    learned: int = 0  # rows
    predicted: int = 0  # rows
    loss: float | None = None  # mean over the champion's rows of this moment
    total_loss: float | None = None  # mean over all of the champion's rows until then
    error: float | None = None  # share of wrong classes in this moment; of numbers there is none
    by_model: dict[str, float] = msgspec.field(default_factory=dict)  # the loss of each model in this moment
    delay_p50: float | None = None  # seconds from a prediction to its label
    delay_p99: float | None = None
    drift: float | None = None  # loss / total_loss
    scale_growth: int | None = None  # features whose scale grew


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
    """What is added up until a moment ends."""

    __slots__ = ("by_model", "delays", "learned", "predicted", "scale_growth", "total_loss")

    def __init__(self) -> None:
        self.learned = self.predicted = 0
        self.by_model: dict[str, list[float]] = {}  # sums of loss, error, weight
        self.delays: dict[int, int] = {}  # how many, by class of the logarithm
        self.total_loss: float | None = None
        self.scale_growth: int | None = None

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
            self.total_loss = other.total_loss
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
        )


class Moments:
    """The recent past of a stream. The live stream says what happens; the clock is told by `tick`, once a second.

    Args:
        champion: the model whose losses are `loss`, `total_loss`, `error` and `drift`; set it when one is promoted.
    """

    def __init__(self, champion: str) -> None:
        self.champion = champion
        self.broadcast = Broadcast()
        self.wants_example = True  # ask before `example` is called, so that rows that are not shown cost nothing
        self._sums, self._minute = _Sums(), _Sums()
        self._seconds: deque[Moment] = deque(maxlen=SECONDS)  # those in which nothing happened are not kept
        self._minutes: deque[Moment] = deque(maxlen=MINUTES)
        self._recent: deque[Example] = deque(maxlen=EXAMPLES)
        self._shown = 0  # examples of this second
        self._now = 0  # the last second that was told, 0 before the first
        self._first = 0  # the first one

    def learned(self, model: str, n: int, loss_sum: float, error_sum: float, weight_sum: float) -> None:
        """A model has learned n rows. Sums are over the rows, times their weights; of numbers `error_sum` is nan."""
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
        """N rows were predicted."""
        self._sums.predicted += n

    def labelled_after(self, seconds: float) -> None:
        """A label came for an earlier prediction."""
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
        """A row that people may look at; what is more than five a second is not kept."""
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
    ) -> None:
        """A second has passed.

        Args:
            now: seconds since 1970.
            total_loss: the champion's progressive loss.
            scale_growth: how many of its scales grew since the last tick.
            standing: gives how the stream stands now (examples, waiting labels, lag, models); asked only if someone
                listens, and sent with the moment as its field "now".
        """
        second = int(now)
        if second <= self._now:
            if second >= self._now - _CLOCK_STEP:
                return  # what happened belongs to the next second
            self._forget()
        self._first = self._first or second
        minute = (self._now + 59) // 60 * 60  # in which the last tick was, by its end
        if second > minute:
            self._end_minute(minute)
        self._now = second
        sums, self._sums = self._sums, _Sums()
        sums.total_loss, sums.scale_growth = total_loss, scale_growth
        moment = sums.moment(second, self.champion)
        if sums or scale_growth:
            self._minute.add(sums)
            self._seconds.append(moment)
        if second % 60 == 0:
            self._end_minute(second)
        self._shown, self.wants_example = 0, True
        if self.broadcast.heard:
            told = msgspec.to_builtins(moment)
            self.broadcast.send("moment", {**told, "now": standing()} if standing is not None else told)

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
        """The last ten minutes, oldest first, each second of them since the server started."""
        return _without_gaps(self._seconds, max(self._first, self._now - SECONDS + 1), self._now, 1)

    def minutes(self) -> list[Moment]:
        """The last day, oldest first, each minute of it that ended since the server started."""
        last = self._now // 60 * 60
        return _without_gaps(self._minutes, max((self._first + 59) // 60 * 60, last - (MINUTES - 1) * 60), last, 60)

    def recent(self) -> list[Example]:
        """Examples, newest first."""
        return list(reversed(self._recent))

    def models_changed(self, models: Any) -> None:
        """A model joined, left or was promoted."""
        self.broadcast.send("models", {"models": models})

    def note(self, text: str) -> None:
        """Something that those who look should know."""
        self.broadcast.send("note", {"text": text})

    def close(self) -> None:
        """The server stops: connections end."""
        self.broadcast.close()


def until_next_tick(now: float) -> float:
    """Seconds until the next full second. Ticks stand just after full seconds, so that each second has one."""
    return 1.005 - now % 1.0


def _ratio(part: float, whole: float) -> float | None:
    ratio = part / whole if whole > 0 else math.nan
    return ratio if math.isfinite(ratio) else None


def _quantile(delays: Mapping[int, int], q: float) -> float | None:
    """The middle of the class of delays in which the quantile is, by their logarithm."""
    still = q * sum(delays.values())
    for key in sorted(delays):
        still -= delays[key]
        if still <= 0:
            return float(2.0 ** ((key + 0.5) / _PARTS))
    return None


def _without_gaps(kept: deque[Moment], first: int, last: int, step: int) -> list[Moment]:
    """Moments from first to last; where nothing happened, moments that say so."""
    found = {moment.time: moment for moment in kept if first <= moment.time}
    total, moments = None, []
    for time in range(first, last + 1, step) if last else ():
        moment = found.get(time) or Moment(time, total_loss=total)
        total = moment.total_loss
        moments.append(moment)
    return moments

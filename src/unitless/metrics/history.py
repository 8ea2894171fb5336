"""The metrics of an evaluation at chosen numbers of examples, for tables and plots."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Moment:
    """The metrics after a number of examples: means so far, and the loss since the previous moment."""

    examples: int
    weight: float
    loss: float
    since_last: float
    error_rate: float | None


class Track:
    """Moments at evenly spaced points of log(examples): a fixed number for each doubling."""

    def __init__(self, per_octave: int) -> None:
        self._per_octave = per_octave
        self._last = (0.0, 0.0)  # the sums at the last moment
        self.moments: list[Moment] = []
        self.next = 1

    def moment(self, examples: int, weight: float, loss: float, error_rate: float | None) -> Moment:
        """Build a `Moment` from sums."""
        last_weight, last_loss = self._last
        since = (loss - last_loss) / (weight - last_weight) if weight > last_weight else math.nan
        return Moment(examples, weight, loss / weight, since, None if error_rate is None else error_rate / weight)

    def record(self, examples: int, weight: float, loss: float, error_rate: float | None) -> None:
        """Append the moment that these sums give."""
        self.moments.append(self.moment(examples, weight, loss, error_rate))
        self._last = (weight, loss)
        self.next = self._after(examples)

    def _after(self, examples: int) -> int:
        """The next number of examples with a moment: 2^(k/per_octave), rounded."""
        step = self._per_octave * (examples.bit_length() - 1)
        while round(math.pow(2.0, step / self._per_octave)) <= examples:
            step += 1
        return round(math.pow(2.0, step / self._per_octave))

    def join(self, now: Moment, other: Track, other_now: Moment) -> None:
        """Join moments of two simultaneous streams: the k-th moments are combined.

        A stream that has ended stays at its end.

        Args:
            now: the end of this stream.
            other: the moments of the other stream.
            other_now: the end of the other stream.
        """
        if not now.examples:
            self.moments, self._last, self.next = list(other.moments), other._last, other.next
            return
        pairs = list(itertools.zip_longest(self.moments, other.moments))
        self.moments, self._last = [], (0.0, 0.0)
        for mine, theirs in pairs:
            self._record_both(mine or now, theirs or other_now)
        self.next = self._after(now.examples + other_now.examples)

    def append(self, now: Moment, later: Track, later_now: Moment) -> None:
        """Append the end of a stream that began where this one ended, unless it is too close to the last moment.

        Args:
            now: the end of this stream.
            later: the moments of the later stream; they are taken as they are if this stream is empty.
            later_now: the end of the later stream.
        """
        if not now.examples:
            self.join(now, later, later_now)
            return
        apart = math.pow(2.0, 0.9 / self._per_octave)  # a little less than a step, because rounds are not exactly equal
        if now.examples + later_now.examples >= apart * self.moments[-1].examples:
            self._record_both(now, later_now)
        self.next = self._after(now.examples + later_now.examples)

    def _record_both(self, one: Moment, two: Moment) -> None:
        weight, loss = one.weight + two.weight, one.loss * one.weight + two.loss * two.weight
        error = None
        if one.error_rate is not None and two.error_rate is not None:
            error = one.error_rate * one.weight + two.error_rate * two.weight
        self.record(one.examples + two.examples, weight, loss, error)

    def state(self) -> dict[str, Any]:
        """The moments as text and numbers, with every float in hexadecimal."""
        moments = [
            [
                m.examples,
                *map(float.hex, (m.weight, m.loss, m.since_last)),
                None if m.error_rate is None else m.error_rate.hex(),
            ]
            for m in self.moments
        ]
        return {"moments": moments, "last": list(map(float.hex, self._last))}

    @classmethod
    def restore(cls, per_octave: int, examples: int, state: dict[str, Any]) -> Track:
        """Rebuild a `Track` from its state; raises ValueError, KeyError or TypeError if the state is invalid."""
        track = cls(per_octave)
        for count, weight, loss, since, error_rate in state["moments"]:
            error = None if error_rate is None else float.fromhex(error_rate)
            moment = Moment(count, float.fromhex(weight), float.fromhex(loss), float.fromhex(since), error)
            track.moments.append(moment)
        counts = [moment.examples for moment in track.moments]
        if not all(type(count) is int for count in counts):
            raise ValueError("a history with an impossible number of examples")
        if bool(counts) != bool(examples) or not all(a < b for a, b in itertools.pairwise([0, *counts, examples + 1])):
            raise ValueError(f"a history that does not fit its {examples} examples")
        weight, loss = map(float.fromhex, state["last"])
        track._last = (weight, loss)
        track.next = track._after(examples) if examples else 1
        return track

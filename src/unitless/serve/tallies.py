"""What the server counts while it works: plain numbers, which cost next to nothing until they are read."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from itertools import accumulate

SYNC_BOUNDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)  # seconds
ANSWER_BOUNDS = tuple(2**power / 1e9 for power in range(14, 36))  # seconds: 16 microseconds to 34 seconds
DELAY_BOUNDS = (1.0, 10.0, 60.0, 600.0, 3600.0, 6 * 3600.0, 86400.0, 7 * 86400.0)  # seconds


class Histogram:
    """How many values lie below each of some bounds.

    Example:
        >>> histogram = Histogram((1.0, 10.0))
        >>> for seconds in (0.5, 1.0, 3.0, 99.0):
        ...     histogram.observe(seconds)
        >>> histogram.below
        [('1.0', 2), ('10.0', 3), ('+Inf', 4)]
        >>> histogram.total
        103.5
    """

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """One more value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    @property
    def below(self) -> list[tuple[str, int]]:
        """Each bound and how many values are not above it; the last one is infinity."""
        return list(zip([*map(str, self._bounds), "+Inf"], accumulate(self._counts), strict=True))


class Tallies:
    """What one server has done since it started.

    Attributes:
        requests: by verb ("predict", "learn", "label", "other") and the status of the answer.
        latencies: of answers, by verb; requests of many rows are "predict_many", "learn_many", "label_many".
        connections: that are open.
        sync_seconds: how long the log took to reach the disk, each time.
    """

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.latencies: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(ANSWER_BOUNDS))
        self.connections = 0
        self.sync_seconds = Histogram(SYNC_BOUNDS)


class StreamTallies:
    """What one stream has done since the server started.

    Attributes:
        events: records and their rows, by kind and outcome.
        predicted: rows, with an id or without.
        label_delay: the time from predictions to their labels.
    """

    def __init__(self) -> None:
        self.events: Counter[tuple[str, str]] = Counter()
        self.predicted = 0
        self.label_delay = Histogram(DELAY_BOUNDS)

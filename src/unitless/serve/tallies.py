"""What the server counts while it works: plain numbers, which cost next to nothing until somebody asks for them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from itertools import accumulate

SYNC_BOUNDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)  # seconds
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


class Latencies:
    """How long answers took, in classes that are a factor of two wide: adding one costs a tenth of a microsecond.

    Example:
        >>> latencies = Latencies()
        >>> for microseconds in (20, 30, 3000):
        ...     latencies.add(microseconds * 1000)
        >>> [(bound, count) for bound, count in latencies.below if bound in ("3.2768e-05", "0.004194304", "+Inf")]
        [('3.2768e-05', 2), ('0.004194304', 3), ('+Inf', 3)]
        >>> latencies.total
        0.00305
    """

    _FIRST, _LAST = 14, 35  # powers of two: the bounds are 16 microseconds to 34 seconds

    def __init__(self) -> None:
        self._counts = [0] * 64
        self._nanoseconds = 0

    def add(self, nanoseconds: int) -> None:
        """One more answer."""
        self._counts[nanoseconds.bit_length()] += 1
        self._nanoseconds += nanoseconds

    @property
    def total(self) -> float:
        """All of them, added up, in seconds."""
        return self._nanoseconds / 1e9

    @property
    def below(self) -> list[tuple[str, int]]:
        """Each bound, in seconds, and how many answers took no longer; the last one is infinity."""
        counts = list(accumulate(self._counts))
        bounds = [(str(2**power / 1e9), counts[power]) for power in range(self._FIRST, self._LAST + 1)]
        return [*bounds, ("+Inf", counts[-1])]


class Tallies:
    """What one server has done since it started.

    Attributes:
        requests: by what was asked ("predict", "learn", "label", "other") and the status of the answer.
        latencies: of answers, by what was asked; requests of many rows are "predict_many", "learn_many", "label_many".
        connections: that are open.
        sync_seconds: how long the log took to reach the disk, each time.
    """

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.latencies: defaultdict[str, Latencies] = defaultdict(Latencies)
        self.connections = 0
        self.sync_seconds = Histogram(SYNC_BOUNDS)


class StreamTallies:
    """What one stream has done since the server started.

    Attributes:
        predicted: rows, with an id or without.
        label_delay: how long labels came after their predictions.
    """

    def __init__(self) -> None:
        self.predicted = 0
        self.label_delay = Histogram(DELAY_BOUNDS)

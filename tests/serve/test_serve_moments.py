"""The page's data about the last minutes: sums, rings, samples, and events for many readers."""

import asyncio
import math

import msgspec
import pytest

from unitless.serve import sse
from unitless.serve.moments import EXAMPLES, EXAMPLES_A_SECOND, MOST_FEATURES, SECONDS, Moments, until_next_tick

START = 1_800_000_000  # a full minute


def show(moments: Moments, seq: int, **features: float) -> None:
    moments.example(
        seq=seq, time=0.0, id=None, features=features, label=1, prediction=0, score=0.5, loss=0.1, model="a"
    )


def test_a_second_holds_the_weighted_means_of_its_rows() -> None:
    moments = Moments("a")
    moments.learned("a", 2, 3.0, 1.0, 4.0)
    moments.learned("a", 1, 1.0, 0.0, 1.0)
    moments.learned("b", 3, 10.0, 2.0, 5.0)
    moments.predicted(7)
    moments.tick(START, total_loss=1.6)
    (moment,) = moments.seconds()
    assert (moment.time, moment.learned, moment.predicted) == (START, 3, 7)
    assert moment.loss == pytest.approx(0.8)
    assert moment.error == pytest.approx(0.2)
    assert moment.by_model == {"a": pytest.approx(0.8), "b": pytest.approx(2.0)}
    assert moment.drift == pytest.approx(0.5)


def test_models_of_numbers_have_no_share_of_wrong_classes() -> None:
    moments = Moments("a")
    moments.learned("a", 1, 2.0, math.nan, 1.0)
    moments.tick(START)
    assert moments.seconds()[0].error is None
    assert moments.seconds()[0].loss == 2.0


def test_quiet_seconds_are_there_and_the_ring_is_bounded() -> None:
    moments = Moments("a")
    moments.learned("a", 1, 1.0, 0.0, 1.0)
    moments.tick(START, total_loss=1.0)
    moments.tick(START + 3, total_loss=1.0)
    assert [(moment.time - START, moment.learned) for moment in moments.seconds()] == [(0, 1), (1, 0), (2, 0), (3, 0)]
    for second in range(4, 2 * SECONDS):
        moments.learned("a", second, 1.0, 0.0, 1.0)
        moments.tick(START + second)
    seconds = moments.seconds()
    assert len(seconds) == SECONDS
    assert [moment.time for moment in seconds] == list(range(START + SECONDS, START + 2 * SECONDS))
    assert seconds[-1].learned == 2 * SECONDS - 1


def test_minutes_add_up_their_seconds() -> None:
    moments = Moments("a")
    for second in range(1, 181):
        moments.learned("a", 2, 4.0 if second <= 60 else 2.0, 0.0, 2.0)
        moments.labeled_after(1.0)
        moments.tick(START + second, scale_growth=1)
    first, second, third = moments.minutes()
    assert (first.time, second.time, third.time) == (START + 60, START + 120, START + 180)
    assert (second.learned, second.loss, second.scale_growth) == (120, 1.0, 60)
    assert (first.loss, first.delay_p50) == (2.0, pytest.approx(1.0, rel=0.1))
    moments.learned("a", 5, 1.0, 0.0, 1.0)
    moments.tick(START + 239)
    moments.tick(START + 301)  # the tick of the full minute came late
    assert [moment.learned for moment in moments.minutes()[3:]] == [5, 0]


def test_a_small_clock_step_back_keeps_counts_and_a_large_one_resets() -> None:
    moments = Moments("a")
    moments.tick(START)
    moments.learned("a", 1, 1.0, 0.0, 1.0)
    moments.tick(START - 1)
    moments.tick(START + 1)
    assert [moment.learned for moment in moments.seconds()] == [0, 1]
    moments.learned("a", 1, 1.0, 0.0, 1.0)
    moments.tick(START - 3600)
    assert [(moment.time, moment.learned) for moment in moments.seconds()] == [(START - 3600, 1)]


def test_delays_are_quantiles_within_a_few_percent() -> None:
    moments = Moments("a")
    for second in range(1, 1001):
        moments.labeled_after(second)
    moments.labeled_after(0.0)
    moments.tick(START)
    (moment,) = moments.seconds()
    assert moment.delay_p50 == pytest.approx(500, rel=0.1)
    assert moment.delay_p99 == pytest.approx(990, rel=0.1)


def test_examples_are_few_a_second_and_few_altogether() -> None:
    moments = Moments("a")
    for second in range(20):
        for k in range(100):
            show(moments, 100 * second + k, area=1.0)
        assert not moments.wants_example
        moments.tick(START + second)
        assert moments.wants_example
    recent = moments.recent()
    assert len(recent) == EXAMPLES
    assert [example.seq for example in recent[:6]] == [1904, 1903, 1902, 1901, 1900, 1804]
    assert EXAMPLES_A_SECOND == 5


def test_an_example_with_many_features_keeps_some_and_says_so() -> None:
    moments = Moments("a")
    show(moments, 1, **{f"x{k}": 1.0 for k in range(1000)})
    (example,) = moments.recent()
    assert len(example.features) == MOST_FEATURES
    assert example.left_out == 1000 - MOST_FEATURES


def test_ticks_stand_after_full_seconds() -> None:
    for now in (START + 0.0, START + 0.25, START + 0.999):
        after = now + until_next_tick(now)
        assert int(after) == START + 1
        assert after % 1 < 0.01


def read(event: bytes) -> list[tuple[str, dict[str, object]]]:
    lines = [part.split(b"\n") for part in event.split(b"\n\n") if part and not part.startswith(b":")]
    return [(name[7:].decode(), msgspec.json.decode(data[6:])) for name, data in lines]


def test_readers_are_told_what_happens_and_how_it_stands() -> None:
    async def run() -> None:
        moments = Moments("a")
        reader = moments.broadcast.events()
        assert (await anext(reader)).startswith(b":")
        show(moments, 5, area=2.0)
        moments.learned("a", 1, 1.0, math.nan, 1.0)
        moments.tick(START, total_loss=math.nan, standing=lambda: {"examples": 9})
        moments.models_changed([{"name": "b"}])
        moments.note("disk is full")
        told = read(await anext(reader))
        assert [name for name, _ in told] == ["example", "moment", "models", "note"]
        assert told[0][1]["features"] == {"area": 2.0}
        assert told[1][1]["learned"] == 1
        assert told[1][1]["total_loss"] is None
        assert told[1][1]["now"] == {"examples": 9}
        moments.close()
        assert [part async for part in reader] == []
        assert not moments.broadcast.has_readers

    asyncio.run(run())


def test_a_slow_reader_loses_the_oldest_events_and_no_memory() -> None:
    async def run() -> None:
        broadcast = sse.Broadcast()
        slow, fast = broadcast.events(), broadcast.events()
        await anext(slow)
        await anext(fast)
        for k in range(1000):
            broadcast.send("moment", {"time": k})
            assert read(await anext(fast)) == [("moment", {"time": k})]
        kept = [data["time"] for _, data in read(await anext(slow))]
        assert kept == list(range(1000 - sse.HELD, 1000))
        await slow.aclose()
        await fast.aclose()
        assert not broadcast.has_readers

    asyncio.run(run())


def test_a_quiet_connection_is_kept_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "KEEP_ALIVE", 0.01)

    async def run() -> None:
        reader = sse.Broadcast().events()
        parts = [await anext(reader) for _ in range(3)]
        assert all(part.startswith(b":") and part.endswith(b"\n\n") for part in parts)
        await reader.aclose()

    asyncio.run(run())


def test_without_readers_nobody_is_asked_how_it_stands() -> None:
    def asked() -> dict[str, object]:
        raise AssertionError("nobody reads")

    moments = Moments("a")
    moments.tick(START, standing=asked)
    assert moments.seconds()[0].time == START

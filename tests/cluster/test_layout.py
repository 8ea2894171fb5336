"""Layouts: even cells of blocks from all of the data, the same on every machine, different for each seed and pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unitless.cluster.blocks import Block, FileSurvey
from unitless.cluster.layout import BLOCKS_PER_CELL, Layout, fitting, lay_out
from unitless.data.sources.row_places import RowPlaces


def of_groups(file: int, *groups: int, direct: bool = True) -> FileSurvey:
    return FileSurvey(f"{file}.parquet", RowPlaces.anywhere(file, groups, direct), (), (), f"identity {file}")


def of_text(file: int, rows: int, every: int = 64, direct: bool = True) -> FileSurvey:
    before = np.append(np.arange(0, rows, every), rows).astype(np.int64)
    places = RowPlaces(file, rows, 7 * before, before, before, False, direct)
    return FileSurvey(f"{file}.csv", places, (), (), f"identity {file}")


def cells_of(layout: Layout) -> list[list[Block]]:
    return [list(cell) for row in layout.cells for cell in row]


def sizes(layout: Layout) -> list[int]:
    return [sum(block.rows for block in cell) for cell in cells_of(layout)]


def rows_of(layout: Layout) -> list[tuple[int, int, int]]:
    return sorted((b.start.file, b.start.offset, b.end.offset) for cell in cells_of(layout) for b in cell)


SURVEYS = st.lists(
    st.one_of(
        st.tuples(st.just(of_groups), st.lists(st.integers(1, 5000), min_size=1, max_size=6)),
        st.tuples(st.just(of_text), st.lists(st.integers(1, 20_000), min_size=1, max_size=1)),
    ),
    min_size=1,
    max_size=5,
)


@given(SURVEYS, st.integers(1, 20), st.integers(1, 10), st.integers(0, 2**32), st.booleans())
@settings(max_examples=200, deadline=None)
def test_every_row_is_in_one_cell_and_cells_are_even(
    files: list[tuple[Any, list[int]]], partitions: int, rounds: int, seed: int, direct: bool
) -> None:
    surveys = [make(number, *rows, direct=direct) for number, (make, rows) in enumerate(files)]
    layout = lay_out(surveys, partitions, rounds, seed, 0, 100)
    assert layout.rows == sum(one.rows for one in surveys) == sum(sizes(layout))
    assert layout.partitions <= partitions
    assert layout.rounds <= rounds
    assert len(layout.cells) == layout.rounds
    assert {len(row) for row in layout.cells} == {layout.partitions}
    assert min(sizes(layout)) > 0
    reached: dict[int, int] = {}
    for file, begin, end in rows_of(layout):  # without gaps or overlaps
        assert reached.get(file, 0) == begin
        reached[file] = end
    assert reached == {number: int(one.places.offsets[-1]) for number, one in enumerate(surveys)}
    for one in surveys:
        if one.places.between:  # not across groups
            ends = set(one.places.offsets.tolist())
            mine = [(a, b) for file, a, b in rows_of(layout) if file == one.places.file]
            assert ends <= {a for a, _ in mine} | {b for _, b in mine}
    largest = max(block.rows for cell in cells_of(layout) for block in cell)
    if len(sizes(layout)) * 2 <= len(rows_of(layout)):
        assert max(sizes(layout)) - min(sizes(layout)) <= 2 * largest


def test_a_cell_has_blocks_from_different_places() -> None:
    layout = lay_out([of_groups(0, 1_000_000)], 16, 8, 0)
    assert (layout.partitions, layout.rounds) == (16, 8)
    assert {len(cell) for cell in cells_of(layout)} == {BLOCKS_PER_CELL}
    assert max(sizes(layout)) - min(sizes(layout)) <= BLOCKS_PER_CELL
    spread = [np.std([block.start.offset for block in cell]) for cell in cells_of(layout)]
    assert np.mean(spread) > 200_000  # of a uniform distribution: 289,000
    short = lay_out([of_text(0, 45_211)], 4, 8, 0)
    assert min(block.rows for cell in cells_of(short)[:-1] for block in cell if block.end.offset != 7 * 45_211) >= 64


def test_files_that_must_be_read_from_the_beginning_are_cut_less() -> None:
    counts = [len(rows_of(lay_out([of_text(0, 500_000, direct=direct)], 4, 4, 0))) for direct in (True, False)]
    assert counts == [16 * BLOCKS_PER_CELL, 32]


def test_short_data_has_fewer_partitions_and_then_fewer_rounds() -> None:
    assert fitting(1_000_000, 16, 8, 1000) == (16, 8)
    assert fitting(45_211, 16, 8, 1000) == (5, 8)
    assert fitting(8_000, 16, 8, 1000) == (1, 8)
    assert fitting(3_500, 16, 8, 1000) == (1, 3)
    assert fitting(10, 16, 8, 1000) == (1, 1)
    layout = lay_out([of_groups(0, 45_211)], 16, 8, 0)
    assert (layout.partitions, layout.rounds) == (5, 8)
    assert min(sizes(layout)) >= 1000
    assert lay_out([of_groups(0, 45_211)], 16, 8, 0, 0, 100).partitions == 16
    assert lay_out([of_groups(0, 3)], 16, 8, 0, 0, 1).partitions == 1


def test_the_order_depends_on_seed_and_pass_alone() -> None:
    surveys = [of_groups(0, 5000, 7000), of_text(1, 40_000)]
    first = lay_out(surveys, 4, 4, 1, 0)
    assert lay_out(surveys, 4, 4, 1, 0) == first
    for seed, pass_number in ((2, 0), (1, 1), (2, 1)):
        other = lay_out(surveys, 4, 4, seed, pass_number)
        assert other.cells != first.cells
        assert rows_of(other) == rows_of(first)


def test_the_identity_tells_plans_apart_but_not_passes() -> None:
    surveys = [of_groups(0, 50_000), of_text(1, 40_000)]
    first = lay_out(surveys, 4, 4, 1, 0).identity
    assert lay_out(surveys, 4, 4, 1, 3).identity == first
    for changed in (
        lay_out(surveys, 4, 4, 2, 0),
        lay_out(surveys, 5, 4, 1, 0),
        lay_out(surveys, 4, 2, 1, 0),
        lay_out(surveys[::-1], 4, 4, 1, 0),
        lay_out(surveys[:1], 4, 4, 1, 0),
    ):
        assert changed.identity != first


@pytest.mark.parametrize("pass_number", [0, 1])
def test_the_layout_is_the_same_on_every_machine(pass_number: int) -> None:
    """Store a plan that was begun on one machine, so that another can continue it."""
    layout = lay_out([of_groups(0, 3000, 1000), of_text(1, 4000)], 2, 2, 5, pass_number)
    told = [[(b.start.file, b.start.offset) for b in cell][:3] for cell in cells_of(layout)]
    assert told == STORED[pass_number]


STORED = [
    [
        [(0, 195), (0, 260), (0, 391)],
        [(0, 913), (0, 978), (0, 1173)],
        [(0, 456), (0, 521), (0, 847)],
        [(0, 0), (0, 65), (0, 130)],
    ],
    [
        [(0, 130), (0, 521), (0, 652)],
        [(0, 65), (0, 260), (0, 326)],
        [(0, 195), (0, 782), (0, 847)],
        [(0, 0), (0, 391), (0, 456)],
    ],
]

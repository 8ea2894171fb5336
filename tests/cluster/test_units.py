"""Other units in some files are detected; drifting, heavy-tailed and sparse columns cause no false alarm."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unitless.cluster.agreement import agree
from unitless.cluster.blocks import DataSpec, batches, survey
from unitless.cluster.layout import lay_out
from unitless.cluster.units import Scales, parts_of
from unitless.data import ReadOptions


def seen(source: object, target: str = "y", **options: object) -> list[str]:
    """Collect scales as workers do: each has the scales of its own cell, which are sent and joined."""
    spec = DataSpec.of(source, ReadOptions(target=target, **options))  # type: ignore[arg-type]
    surveys = [survey(spec, file) for file in range(spec.parts)]
    spec = DataSpec(spec.options, spec.files, spec.memory, agree(spec, surveys)[0])
    parts = parts_of(surveys)
    of_cells = []
    for row in lay_out(surveys, 4, 4, 0).cells:
        for cell in row:
            scales = Scales(parts)
            for batch in batches(spec, cell):
                scales.add(batch)
            of_cells.append(Scales.read(parts, pickle.loads(pickle.dumps(scales.plain()))))
    of_cells[0].join(of_cells[1:])
    return of_cells[0].warnings()


def table(rows: int, seed: int = 0) -> pd.DataFrame:
    """Columns that are hard to judge, none of which changes its unit."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "counter": np.arange(rows),
            "heavy": rng.standard_cauchy(rows),
            "log-normal": np.exp(3 * rng.normal(size=rows)),
            "rare": np.where(rng.uniform(size=rows) < 0.003, 1e6 * rng.uniform(size=rows), 0),
            "drifting": np.exp(np.linspace(0, 4, rows) + 0.3 * rng.normal(size=rows)),
            "area": rng.uniform(20, 200, rows),
            "signed": rng.normal(size=rows),
            "word": rng.choice(["a", "b"], rows),
            "y": rng.normal(size=rows),
        }
    )


def test_columns_that_only_look_unusual_are_not_reported() -> None:
    assert seen(table(16_000)) == []
    shuffled = table(16_000, 1).sample(frac=1, random_state=0).reset_index(drop=True)
    assert seen(shuffled) == []


@pytest.mark.parametrize("factor", [10, 1000, 1e-6])
def test_files_with_other_units_are_named(tmp_path: Path, factor: float) -> None:
    for number in range(6):
        part = table(3000, number)
        part["area"] *= factor if number in (1, 4) else 1
        part.to_csv(tmp_path / f"{number}.csv", index=False)
    (warning,) = seen(str(tmp_path))
    ratio = {10: "10", 1000: "1,000", 1e-6: "1,000,000"}[factor]
    others, some = (tmp_path / f"{k}.csv" for k in (0, 1))
    large, small = (some, others) if factor > 1 else (others, some)
    assert warning.startswith(f"column 'area' is about {ratio} times as large in ")
    assert warning.index(str(large)) < warning.index(" as in ") < warning.index(str(small))
    assert "rows" not in warning


def test_rows_of_one_file_with_other_units_are_named() -> None:
    frame = table(16_000)
    frame.loc[8000:, "signed"] *= 60
    (warning,) = seen(frame)
    assert warning.startswith("column 'signed' is about 60 times as large ")
    assert "in rows 8,001 to 16,000 as in rows 1 to 8,000; if these are other units" in warning


def test_many_files_are_compared_in_groups() -> None:
    spec = DataSpec.of(table(100), ReadOptions(target="y"))
    one = survey(spec, 0)
    parts = parts_of([one] * 1000)
    assert len(parts) == 250
    assert [part.start for part in parts[:3]] == [0, 400, 800]
    assert len(parts_of([one])) == 16
    assert len(parts_of([one] * 5)) == 5


@pytest.mark.parametrize("name", ["bank", "census", "covertype", "shuttle"])
def test_no_false_alarm_on_real_tables(name: str) -> None:
    path = os.path.join(os.environ.get("UNITLESS_DATA", ""), f"{name}.parquet")
    if not os.path.exists(path):
        pytest.skip("needs the tables of the paper (UNITLESS_DATA)")
    assert seen(path, "label") == []

"""Shared settings: the large datasets in UNITLESS_DATA, if it is set, and all kernels that this machine can run."""

from __future__ import annotations

import os
import pathlib
import signal
import sys
from collections.abc import Iterator

import hypothesis
import pytest
from instruction_sets import KERNELS

# A shell that starts the tests in the background makes them ignore Ctrl-C, which some of them test.
signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile("unitless", deadline=None, derandomize=True, max_examples=40)
hypothesis.settings.load_profile("unitless")
os.environ["no_proxy"] = os.environ["NO_PROXY"] = "127.0.0.1,localhost"  # where the tests' servers are


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """Close the figures that a test leaves open: matplotlib warns from the twentieth on, in whichever test that is."""
    yield
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")


# Files whose tests take longest come first, so that at the end no process runs alone with one of them.
LONGEST = (
    "test_resume",
    "test_raylets",
    "test_training_ray",
    "test_ray",
    "test_docs",
    "test_sklearn",
    "test_sources",
    "test_forged_models",
    "test_robustness",
    "test_theory_bounds",
    "test_falling_scales",
    "test_river",
    "test_train",
    "test_pipes",
    "test_benchmarks",
    "test_gallery",
)


# Tests that `make test` leaves to `make test-all`: by folder, and by file. See the markers in pyproject.toml.
FOLDER_MARKS = {"cluster": "cluster"}
FILE_MARKS = {
    "docs": "test_docs test_site test_gallery test_benchmarks test_examples test_internet_scale test_serve_docs",
    "process": """test_resume test_pipes test_robustness test_cli_paper test_instruction_sets test_serve_client_service
        test_serve_crashes test_serve_fuzz test_serve_process test_serve_replay test_serve_backup test_serve_page
        test_serve_redis test_serve_kafka test_serve_backtest test_serve_snapshotter test_same_file""",
    "long": """test_forged_models test_falling_scales test_theory_bounds test_paper_tables test_parallel_reading
        test_any_options test_sklearn test_river test_cli_convert test_cli_side_by_side test_serve_accepted_rows
        test_serve_limits test_sources test_predictor test_scoring test_core_calls test_curves_and_trees_oracle
        test_curves_and_trees_robust test_words test_hive""",
}
MARK_OF_FILE = {stem: mark for mark, stems in FILE_MARKS.items() for stem in stems.split()}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        mark = FOLDER_MARKS.get(item.path.parent.name) or MARK_OF_FILE.get(item.path.stem)
        if mark is not None:
            item.add_marker(mark)
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


@pytest.fixture(params=KERNELS)
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("UNITLESS_KERNEL", request.param)
    return str(request.param)


@pytest.fixture(scope="session")
def data_directory() -> pathlib.Path:
    folder = os.environ.get("UNITLESS_DATA")
    if not folder:
        pytest.skip("needs the paper's datasets: set UNITLESS_DATA to their directory")
    return pathlib.Path(folder)

"""unitless paper: every experiment as text, as JSON, and all of them as a report."""

from __future__ import annotations

import json
import pathlib

import pytest

from unitless.cli import main
from unitless.paper.experiments import EXPERIMENTS, bounds, figure1


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNITLESS_CACHE", str(tmp_path_factory.getbasetemp() / "paper-cache"))
    monkeypatch.delenv("UNITLESS_DATA", raising=False)


@pytest.fixture(autouse=True)
def small_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "SEQUENCES", 50)
    monkeypatch.setattr(figure1, "ROWS", 300)


@pytest.mark.parametrize("name", ["table2", "table3"])
def test_rows_of_the_tables(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", name, "--datasets", "shuttle", "--shuffles", "2", "--json", "--quiet"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    asked = {"dataset", "normalized", "rule", "rate", "loss", "printed_rate", "printed_loss", "significant"}
    assert len(rows) == 4
    for row in rows:
        assert asked <= set(row)
        assert row["dataset"] == "shuttle"
        assert isinstance(row["normalized"], bool)
        assert isinstance(row["significant"], bool)
    assert {(row["rule"], row["normalized"]) for row in rows} == {
        (rule, normalized) for rule in ("ag", {"table2": "nag", "table3": "snag"}[name]) for normalized in (False, True)
    }


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name not in ("table2", "table3")])
def test_every_experiment_gives_json(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--datasets", "shuttle", "--shuffles", "2", "--rows", "300", "--json", "--quiet"]
    assert main(["paper", name, *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["experiment"] == name
    assert found["rows"]


def test_all_writes_a_report(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "report"
    assert main(["paper", "all", "--shuffles", "2", "--rows", "300", "--out", str(folder), "--quiet"]) == 0
    shown = capsys.readouterr().out
    page = (folder / "report.md").read_text(encoding="utf-8")
    html = (folder / "index.html").read_text(encoding="utf-8")
    data = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert set(data["experiments"]) == set(EXPERIMENTS)
    assert data["about"]["seeds"] == [1, 2]
    for figure in ("figure1", "figure2", "figure3"):
        assert (folder / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / f"{figure}.svg").read_text(encoding="utf-8")
        assert f'src="{figure}.svg"' in html
    for text in (page, html, shown):
        assert "Table 2: NAG against AG" in text
        assert "MSD" in text  # missing data is reported
    assert "Missing" in page
    assert "<table>" in html
    assert "16.4" in page  # the goals that were missed, and what was tried
    assert "Tried" in page


def test_a_figure_is_written_to_the_given_folder(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "figure1", "--out", str(tmp_path), "--quiet"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure1.png", "figure1.svg"]
    assert "to the last bit" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["table2", "--datasets", "iris"], 2, "no dataset 'iris'"),
        (["table2", "--datasets", "bank"], 1, "--download"),
        (["table9"], 2, "table9"),
        (["table1", "--data", "nowhere"], 2, "no directory 'nowhere'"),
        (["table1", "--shuffles", "0"], 2, "shuffles"),
    ],
)
def test_errors_are_one_message(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["paper", *arguments]) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert not captured.out


def test_a_report_is_not_written_over_a_file(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "report").write_text("mine")
    assert main(["paper", "all", "--out", str(tmp_path / "report")]) == 2
    assert "it is a file" in capsys.readouterr().err
    assert (tmp_path / "report").read_text() == "mine"


def test_an_interruption_reports_the_stored_results(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(figure1, "figure1", interrupted)
    assert main(["paper", "figure1", "--quiet"]) == 130
    assert "the results so far are stored" in capsys.readouterr().err


def test_a_directory_that_the_environment_names_must_be_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("UNITLESS_DATA", "nowhere")
    assert main(["paper", "table1"]) == 2
    assert "UNITLESS_DATA" in capsys.readouterr().err


def test_a_damaged_file_is_not_passed_over(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bank.parquet").write_bytes(b"no Parquet")
    assert main(["paper", "table1", "--data", str(tmp_path)]) == 1
    assert "bank.parquet" in capsys.readouterr().err


def test_a_download_that_fails_is_an_error(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("UNITLESS_CACHE", str(tmp_path))
    monkeypatch.setenv("UNITLESS_UCI", "http://127.0.0.1:9")
    assert main(["paper", "table1", "--download"]) == 1
    captured = capsys.readouterr()
    assert "Shuttle" in captured.out  # available results are shown in any case
    assert "Bank cannot be downloaded" in captured.err


def test_datasets_go_by_their_titles_too_and_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "table1", "--datasets", "Shuttle,shuttle", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 1

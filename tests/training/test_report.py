"""The page of a training shows its result, needs no other file, and shows names that are HTML as text."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sources import command, refused, write

import unitless as ul
from unitless.cli import main
from unitless.metrics.records import METRICS
from unitless.presentation import charts
from unitless.training import report

VOID = {"meta", "br"}
ELEMENTS = VOID | set(
    re.findall(
        r"\w+",
        "html head title style body main section h1 h2 p b i u small span div table thead tbody tr th td figure "
        "figcaption svg path circle text ul li details summary pre footer",
    )
)
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a'b\"c&d",
    "\u202eevil\u200f",
    "x" * 10_000,
    "</style></title><b>",
    "${7*7}",
]


class Page(HTMLParser):
    """A parsed page: its elements must be closed in order."""

    def __init__(self, content: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.cells: list[list[str]] = []
        self.feed(content)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)
        if name == "tr":
            self.cells.append([])
        if name in ("td", "th"):
            self.cells[-1].append("")

    def handle_endtag(self, name: str) -> None:
        assert self.open, f"</{name}> without its beginning"
        assert self.open.pop() == name

    def handle_data(self, content: str) -> None:
        if "style" in self.open:
            return
        self.words.append(content)
        if "td" in self.open or "th" in self.open:
            self.cells[-1][-1] += content

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def headings(self) -> set[str]:
        return {found for found in ("ROC", "Reliability", "Residuals", "By class") if found in self.words}

    def row(self, name: str) -> list[str]:
        """The text next to a name, which a remark may follow."""
        same = [cells[1:] for cells in self.cells if cells and cells[0] == name]
        return [*same, *(cells[1:] for cells in self.cells if cells and cells[0].startswith(name))][0]


def page_of(result: ul.TrainResult) -> Page:
    content = report.made(result)
    page = Page(content)
    assert {name for name, _ in page.seen} <= ELEMENTS
    for name, attributes in page.seen:
        # The page loads nothing, runs nothing and sends nothing.
        assert not {"src", "href", "xlink:href", "srcset", "action", "data"} & attributes.keys(), (name, attributes)
        assert not any(attribute.startswith("on") for attribute in attributes), (name, attributes)
    style = content.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    assert not re.search(
        r"(?:https?:)?//\w", re.sub(r'"unitless \S+|<pre>.*?</pre>', "", content.replace(result.source, ""))
    )
    assert "nan" not in re.findall(r"[\w.-]+", "".join(str(value) for _, a in page.seen for value in a.values()))
    return page


def numbers(rows: int = 1500, seed: int = 0) -> tuple[np.ndarray[Any, Any], np.random.Generator]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, 3)) * [1, 1e3, 1e-3], rng


def binary(rows: int = 1500, **options: Any) -> ul.TrainResult:
    X, rng = numbers(rows)
    y = np.where(X[:, 0] + rng.normal(size=rows) > 0.5, "yes", "no")
    return ul.train(pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y), "y", **options)


def regression(rows: int = 1500, **options: Any) -> ul.TrainResult:
    X, rng = numbers(rows)
    y = np.abs(3 + X[:, 0] + X[:, 1] / 500 + rng.normal(size=rows))
    return ul.train(pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y), "y", **options)


def classes(count: int = 5, rows: int = 3000, **options: Any) -> ul.TrainResult:
    X, rng = numbers(rows)
    names = np.array([f"class {k}" for k in range(count)])
    place = np.clip(((X[:, 0] + 0.3 * rng.normal(size=rows) + 2.5) / 5 * count).astype(int), 0, count - 1)
    return ul.train(pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=names[place]), "y", task="classes", **options)


def test_a_page_of_two_classes_has_the_numbers_of_the_result() -> None:
    result = binary()
    page = page_of(result)
    assert page.headings() == {"ROC", "Reliability"}
    assert f"{1 - result.metrics['error_rate']:.2%}" in page.text
    low, high = result.metrics_ci
    assert f"{1 - high:.2%} to {1 - low:.2%}" in page.text
    assert f"the model's error is {result.skill:.1%} below the baseline's" in page.text
    assert result.metrics_on in page.text
    for metric in METRICS:
        if metric.name in result.metrics and "binary" not in metric.hidden:
            names = {"auc": "AUC", "f1": "F1", "brier": "Brier score", "log_loss": "log loss"}
            model, baseline, progressive = page.row(names.get(metric.name, metric.name))
            form = ".2%" if metric.name == "accuracy" else ".4f"
            assert model == f"{result.metrics[metric.name]:{form}}"
            assert progressive == f"{result.progressive[metric.name]:{form}}"
            assert baseline in ("-", f"{result.baseline[metric.name]:{form}}")
    assert page.row("accuracy")[2] == f"{1 - result.progressive['error_rate']:.2%}"
    for name in (one.column for one in result.importance):
        assert name in page.text


def test_what_is_right_and_wrong_adds_up_to_the_rows_that_were_scored() -> None:
    result = binary()
    page = page_of(result)
    no, yes = ([int(cell.replace(",", "")) for cell in page.row(f"truly {name}")] for name in ("no", "yes"))
    assert sum(no) + sum(yes) == result.details.held_out
    assert (no[1] + yes[0]) / result.details.held_out == pytest.approx(result.metrics["error_rate"])
    assert yes[1] / (no[1] + yes[1]) == pytest.approx(result.metrics["precision"])


def test_numbers_have_residuals_and_predictions_against_truth() -> None:
    result = regression()
    page = page_of(result)
    assert page.headings() == {"Residuals"}
    assert page.row("RMSE")[0] == f"{result.metrics['rmse']:.4f}"
    assert page.row("R²")[:2] == [f"{result.metrics['r2']:.4f}", f"{result.baseline['r2']:.4f}"]
    assert f"the model's squared error is {result.skill:.1%} below the baseline's" in page.text


@pytest.mark.parametrize("loss", ["quantile", "poisson"])
def test_another_loss_of_numbers_is_what_the_model_is_judged_by(loss: Any) -> None:
    options = {"quantile": 0.9} if loss == "quantile" else {}
    result = regression(loss=loss, **options)
    page = page_of(result)
    assert f"has a {loss} loss of {result.metrics['loss']:.4f}" in page.text
    skill = 1 - result.metrics["loss"] / result.baseline["loss"]
    assert result.skill == pytest.approx(skill)
    assert f"the model's loss is {skill:.1%} below the baseline's" in page.text
    assert ("90.0% should" in page.text) == (loss == "quantile")


def test_a_margin_has_no_probabilities() -> None:
    page = page_of(binary(loss="hinge"))
    assert page.headings() == {"ROC"}
    assert "its score is above 0" in page.text


@pytest.mark.parametrize("count", [2, 5, 200])
def test_all_classes_are_shown(count: int) -> None:
    result = classes(count, model_type="linear", ensemble=False, passes=1)
    page = page_of(result)
    assert "By class" in page.headings()
    for label, of in result.details.per_class.items():
        cells = page.row(label)
        assert cells[-1] == (f"{of['recall']:.1%}" if of["recall"] == of["recall"] else "-")


def test_the_numbers_of_classes_are_those_of_the_kept_model() -> None:
    result = classes(4)
    right = sum(of["share"] * of["recall"] for of in result.details.per_class.values() if of["share"])
    assert right == pytest.approx(1 - result.metrics["error_rate"])
    progressive = classes(4, holdout=0)
    assert progressive.metrics == progressive.progressive
    right = sum(of["share"] * of["recall"] for of in progressive.details.per_class.values())
    assert right == pytest.approx(1 - progressive.progressive["error_rate"])


@pytest.mark.parametrize("made", [binary, regression, classes])
def test_without_a_holdout_the_page_labels_its_metrics_progressive(made: Any) -> None:
    result = made(holdout=0)
    assert result.details.curves is None
    page = page_of(result)
    assert f", on {result.metrics_on}. " in page.text
    assert "each predicted before it was learned" in result.metrics_on
    main = result.metrics.get("error_rate")
    assert (f"{1 - main:.2%}" if main is not None else f"{result.metrics['rmse']:.4f}") in page.text
    assert "baseline" not in page.text.lower()
    assert (
        page.headings()
        == {"binary": {"ROC", "Reliability"}, "regression": set(), "classes": {"By class"}}[result.details.target.task]
    )


@pytest.mark.parametrize("made", [binary, regression])
def test_stream_metrics_are_compared_with_the_last_label(made: Any) -> None:
    result = made(shuffle=False)
    page = page_of(result)
    assert "in their own order" in page.text
    assert "Last-label baseline" in page.text
    last = result.last_label_baseline
    main = last.get("error_rate")
    assert (f"{1 - main:.2%}" if main is not None else f"{last['rmse']:.4f}") in page.text
    assert "a sample of 1,500 learned rows (in-sample)" in page.text
    assert result.details.curves is not None


def test_the_last_rows_are_the_ones_that_are_drawn_when_they_are_held_back() -> None:
    result = regression(shuffle=False, holdout="last")
    assert result.details.curves is not None
    assert result.details.curves.pairs is not None
    assert len(result.details.curves.pairs.truth) == result.details.held_out == 150
    assert "the last 150 rows" in page_of(result).text


def test_curves_are_of_the_rows_that_were_scored() -> None:
    result = regression(rows=3000)
    assert result.details.curves is not None
    pairs = result.details.curves.pairs
    assert pairs is not None
    assert len(pairs.truth) == result.details.held_out == 300
    assert float(np.sqrt(np.mean((pairs.truth - pairs.predicted) ** 2))) == pytest.approx(result.metrics["rmse"])


def test_a_hold_out_on_which_model_and_baseline_make_no_error_has_a_page() -> None:
    """Held-out rows without the rare class, and more errors only in the first pass."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(1000, 3)), columns=list("abc"))
    frame["y"] = np.where(np.arange(1000) == 5, "fraud", "fine")
    result = ul.train(frame, "y", progress=False)
    assert result.metrics["error_rate"] == result.baseline["error_rate"] == 0 < result.progressive["error_rate"]
    assert "shorter is better" in report.made(result)


def test_features_without_a_table_have_a_page(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{2 * (k % 2) - 1} |s a:{k % 2 + rng.normal():.3f} word{k % 7}" for k in range(600)]
    result = ul.train(write(tmp_path / "<b>.vw", "\n".join([*lines, "|s a:1"]) + "\n"))
    page = page_of(result)
    assert "<b>.vw" in page.text
    assert "1 without label" in page.text


@pytest.mark.parametrize("fitted", [True, False])
def test_the_page_of_an_interrupted_training_says_so(fitted: bool) -> None:
    def stop(run: Any) -> None:
        if run.progress.learned >= 500:
            os.kill(os.getpid(), signal.SIGINT)

    rng = np.random.default_rng(0)
    rows = ({"a": x, "y": 2 * x + noise} for x, noise in rng.normal(size=(50_000, 2)).tolist())
    result = ul.train([*rows] if fitted else rows, "y", passes=50 if fitted else 1, progress=stop)
    assert result.details.interrupted
    page = page_of(result)
    assert "The training was interrupted" in page.text
    assert f"{result.metrics['rmse']:.4f}" in page.text


def test_too_few_rows_for_a_score_still_give_a_page() -> None:
    page = page_of(ul.train([[1.0], [2.0]], [1.0, 2.0]))
    assert "on 2 rows, each predicted before it was learned" in page.text
    assert "Only 2 rows have a label in the data: too few to predict other rows well" in page.text
    one = page_of(ul.train([[1.0]], [2.5], task="regression"))
    assert "There were too few rows to measure how good the model is." in one.text


def test_the_page_shows_the_notes(tmp_path: Path) -> None:
    rows = [f"{k % 7 if k % 5 else ''},{k},user{k},{k % 2}" for k in range(3000)]
    path = write(tmp_path / "t.csv", "a,b,who,y\n" + "\n".join(rows) + "\n1,2\n")
    result = ul.train(path, "y", reading=ul.Reading(on_error="skip"))
    page = page_of(result)
    assert "600 values (a: 600)" in page.text
    assert "1 skipped" in page.text
    assert "t.csv, row 3001" in page.text
    assert "'b', a row counter" in page.text
    assert "'who', text with 3,000 different values in 3,000 rows" in page.text
    assert ["a", "", "600", "20.0%"] in page.cells


@pytest.mark.parametrize("task", ["binary", "classes", "regression"])
def test_names_that_are_html_are_shown_as_text(task: str) -> None:
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=600) for name in HOSTILE}
    columns["word <i>"] = np.array([HOSTILE[k % len(HOSTILE)] for k in range(600)], dtype=object)
    columns[HOSTILE[0]][::3] = np.nan
    if task == "regression":
        y: Any = rng.normal(size=600)
    else:
        y = np.array([HOSTILE[k % (2 if task == "binary" else len(HOSTILE))] for k in range(600)], dtype=object)
    result = ul.train(pd.DataFrame({**columns, "<u>y</u>": y}), "<u>y</u>", task=task)
    page = page_of(result)
    assert "<u>y</u>" in page.text
    assert HOSTILE[0] in page.text
    assert "\u202e" not in page.text
    assert max(map(len, page.text.split())) < 500


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result, path = binary(300), tmp_path / "page.html"
    result.report(path)
    before = path.read_bytes()
    assert before.decode().startswith("<!DOCTYPE html>")

    def broken(*_: Any) -> str:
        raise RuntimeError

    monkeypatch.setattr(report, "made", broken)
    with pytest.raises(RuntimeError):
        result.report(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("name", ["page.pdf", "page", "nowhere/page.html", "folder.html"])
def test_a_report_that_cannot_be_written_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(ul.OptionError, match="a report cannot be written"):
        report.check_path(tmp_path / name)


def test_the_command_writes_the_page_and_names_options_as_flags(tmp_path: Path) -> None:
    # Labels that grow along the data cause a note that names options.
    rng = np.random.default_rng(0)
    rows = [f"{x:.4f},{x + k / 1000 + rng.normal():.4f}" for k, x in enumerate(rng.normal(size=10_000))]
    path = write(tmp_path / "t.csv", "x,y\n" + "\n".join(rows) + "\n")
    run = command("train", path, "--target", "y", "--report", str(tmp_path / "r.html"), "--quiet")
    assert run.returncode == 0, run.stderr
    text = Page((tmp_path / "r.html").read_text()).text
    assert "--no-shuffle and --holdout last" in text
    assert "shuffle=False" not in text


def test_a_report_that_cannot_be_written_is_refused_before_the_training(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "x,y\n1,2\n2,3\n")
    model = tmp_path / "m.unitless"
    run = command("train", path, "--target", "y", "--output", str(model), "--report", str(tmp_path / "r.txt"))
    assert "must end in .html" in refused(run, 2)
    assert not model.exists()


def test_a_report_is_not_written_over_the_model_or_the_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.csv", "x,y\n1,2\n2,3\n3,4\n")
    ul.train("t.csv", "y", output="old.html")
    before = Path("old.html").read_bytes()
    for more in (["--output", "r.html", "--report", "./r.html"], ["--resume", "old.html", "--report", "old.html"]):
        assert main(["train", "t.csv", "--target", "y", *more]) == 2
        assert "the report would be written over the model" in capsys.readouterr().err
    assert not Path("r.html").exists()
    assert Path("old.html").read_bytes() == before


def test_a_report_needs_no_other_package(tmp_path: Path) -> None:
    code = (
        "import sys, unitless as ul; r = ul.train([[k % 7.0] for k in range(200)], [k % 2 for k in range(200)]); "
        f"r.report({str(tmp_path / 'r.html')!r}); assert not {{'matplotlib', 'pandas', 'rich'}} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_every_metric_is_explained() -> None:
    assert all(metric.about for metric in METRICS)


def test_axes_have_a_few_round_numbers_whatever_their_range() -> None:
    for low, high in ((0, 1), (-3.2, 7.7), (1e-9, 3e-9), (0, 1e12), (5, 5), (-1e308, 1e308), (0, 5e-324)):
        for log in (False, True) if low > 0 else (False,):
            axis = charts.Axis("x", low, high, log)
            ticks = axis.ticks()
            assert 1 <= len(ticks) <= 10
            assert all(0 <= axis.share(value) <= 1 for value, _ in ticks)
            assert len({text for _, text in ticks}) == len(ticks)


@pytest.mark.parametrize("made", [binary, regression, classes])
@pytest.mark.parametrize("model_type", ["curves", "trees", "curves only"])
def test_curves_are_drawn(made: Any, model_type: Any) -> None:
    result = made(model_type=model_type)
    text = report.made(result)
    assert "Curves</h2>" in text
    assert text.count('class="seen"') >= 1
    assert "values are permuted among these rows" in text
    assert ("the most frequent class" in text) == (made is classes)
    assert "large values move" not in text
    assert "Curves</h2>" not in report.made(made(model_type="linear"))

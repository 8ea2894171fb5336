"""Output in notebooks: well-formed, self-contained, without scripts, and with all data escaped."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unitless as ul
from unitless.presentation import html

EVIL = '<script>alert("x")</script>'
VOID = ("br", "hr", "img")


class Checked(HTMLParser):
    """Text and tags of a page whose elements are closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.said = ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.open.append(tag)
        for name, value in attributes:
            assert name in ("style", "aria-hidden")
            assert "url" not in (value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said += data + " "


def table(label: str = "two") -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 300), EVIL: rng.choice([EVIL, "b & c", "d"], 300)})
    y = frame["age"] / 10 + (frame[EVIL] == "d")
    names = {"two": ["<no>", "<yes>"], "three": ["<a>", "b&b", "c"]}.get(label, [])
    frame["y"] = [names[int(k)] for k in pd.qcut(y, len(names), labels=False)] if names else y
    return frame


def shown() -> dict[str, Any]:
    results = {kind: ul.train(table(kind), "y") for kind in ("number", "two", "three")}
    rows = table()
    sweep = ul.Sweep([0.1, 1.0], classes=["<a>", "b"])
    sweep.learn([[1.0], [2.0]], ["<a>", "b"])
    found: dict[str, Any] = {"sweep": sweep, "fresh learner": ul.Learner(), "fresh classes": ul.OneVsAll()}
    for kind, result in results.items():
        found |= {
            f"result of {kind}": result,
            f"model of {kind}": result.model,
            f"predictor of {kind}": result.predictor,
            f"importance of {kind}": result.importance,
        }
        found[f"score of {kind}"] = ul.evaluate(result, table(kind), by=EVIL)
        found[f"explanation of {kind}"] = ul.explain(result, {**rows.iloc[0].to_dict(), EVIL: "d", "<more>": 1})
    found["comparison"] = ul.compare(table("number"), "y", ["nag", "gd"], learning_rate=0.5)
    found["rates"] = ul.sweep(table("two"), "y", ["nag", "ng"], rates=[0.1, 1.0])
    return found


@pytest.mark.parametrize(("name", "thing"), shown().items())
def test_notebook_pages_are_complete_and_escaped(name: str, thing: Any) -> None:
    page = thing._repr_html_()
    checked = Checked(page)
    assert checked.seen <= {"div", "table", "thead", "tbody", "tr", "th", "td", "span", "b", "u"}
    assert "script>" not in page.replace("&lt;script&gt;", "").replace("&lt;/script&gt;", "")
    assert "://" not in page
    if name.startswith("result"):
        assert f"on {thing.metrics_on}" in checked.said
        assert thing.baseline_name in checked.said
    if name.startswith("explanation"):
        assert f"{EVIL} d" in checked.said
        assert "<more>" in checked.said


def test_printed_results_are_tables() -> None:
    result = ul.train(table("two"), "y", model_type="linear", passes=1)
    assert result.importance is not None
    lines = str(result.importance).splitlines()
    assert lines[0] == f"Importance of columns, on {result.importance.on}"
    assert [line.split()[0] for line in lines[2:]] == [one.column.split()[0] for one in result.importance.columns]
    found = str(ul.evaluate(result, table("two"), by="age"))
    for part in ("rows      300 rows evaluated", "\n\nClasses\nclass", "\n\nGroups\nage"):
        assert part in found


def test_results_show_the_column_report() -> None:
    frame = table("two").assign(row_id=range(len(table("two"))))
    page = Checked(ul.train(frame, "y", model_type="linear", passes=1)._repr_html_())
    assert "left out: 'row_id', a row counter (numbers='row_id' to use it)" in page.said


@pytest.mark.parametrize("model_type", ["linear", "auto"])
def test_explanations_are_readable_tables(model_type: Any) -> None:
    result = ul.train(table("two"), "y", model_type=model_type, ensemble=False)
    why = ul.explain(result, {"age": 70, EVIL: "d"})
    text = str(why)
    lines = text.splitlines()
    assert lines[0].split() == ["column", "value", "contribution"]
    assert [line.split()[0] for line in lines if line][-3:-1] == ["sum", "prediction:"]
    chance = result.predictor.predict_proba_one({"age": 70, EVIL: "d"})["<yes>"]
    assert f"prediction: '<yes>' (probability of '<yes>': {chance:.2%})" in text
    assert repr(why) == text
    assert why.probability == pytest.approx(chance, rel=1e-12)


def test_explanations_show_the_largest_and_sum_up_the_rest() -> None:
    model = ul.Learner()
    model.learn([{f"f{k}": 1.0 + k for k in range(50)}], [1.0])
    why = ul.explain(model, {f"f{k}": 1.0 for k in range(50)})
    lines = str(why).splitlines()
    assert sum(line.startswith("f") for line in lines) == 20
    assert "(30 others)" in str(why)
    assert "(30 others)" in why._repr_html_()


@pytest.mark.parametrize("kind", ["number", "two", "three"])
def test_results_predictors_and_models_explain_alike(kind: str) -> None:
    result = ul.train(table(kind), "y")
    row = {"age": 44, EVIL: "d"}
    said = ul.explain(result.model, row)
    for source in (result, result.predictor):
        for given in (row, pd.Series(row), pd.DataFrame([row])):
            assert ul.explain(source, given) == said
    assert said.prediction == result.predictor.predict_one(row)
    assert (said.label is None) == (kind != "three")
    assert said.centered
    plain = ul.Learner(loss="logistic")
    plain.learn([{"a": 1.0}], [1])
    assert "probability of the positive label" in str(ul.explain(plain, pd.Series({"a": 1.0})))
    assert ul.explain(plain, pd.DataFrame({"a": [1.0]})).score == plain.predict_one({"a": 1.0})
    for wrong in (ul.Sweep(), 5):
        with pytest.raises(ul.OptionError, match="has no model; give a model"):
            ul.explain(wrong, row)


def test_text_is_escaped_once() -> None:
    cell = html.tag("td", "a < b & 'c'")
    assert cell == "<td>a &lt; b &amp; &#x27;c&#x27;</td>"
    assert html.joined([cell, "<"]) == f"{cell}&lt;"
    assert html.tag("div", "", 'x"y') == '<div style="x&quot;y"></div>'

"""What notebooks show of results, made from their plain values (`asdict`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import html, shown
from ..html import Html

# The columns of the table of metrics, as far as they are known: the model's metrics first.
_METRICS = {
    "metrics": "metrics",
    "baseline": "baseline",
    "progressive": "progressive",
    "last_label_baseline": "last label",
}


def train_result(fields: Mapping[str, Any]) -> Html:
    """What `train` gave."""
    return html.card(
        "TrainResult",
        html.facts(
            [
                ("task", fields["task"]),
                *_data(fields),
                ("model", _model(fields)),
                ("file", fields["output"]),
                ("metrics", f"on {fields['metrics_on']}" if fields["metrics"] else ""),
                ("baseline", fields["baseline_name"] if fields["baseline"] else ""),
            ]
        ),
        metrics(fields),
        top_features(fields["top_features"]),
        *(html.note(f"Data: {decision}") for decision in fields["column_report"]),
        *(html.note(f"Note: {note}") for note in fields["notes"]),
        *([html.note("The training was interrupted.")] if fields["interrupted"] else []),
    )


def comparison(fields: Mapping[str, Any]) -> Html:
    """What `compare` gave: a row for each learner, the best first."""
    names = list(dict.fromkeys(name for one in fields["learners"] for name in one["metrics"] or ()))
    rows = []
    for one in fields["learners"]:
        found = one["metrics"] or {}
        rate = "" if one["learning_rate"] is None else _rate(one["learning_rate"])
        numbers = [shown.number(found.get(name)) for name in names]
        rows.append([_strong(one["rule"], one["rule"] == fields["best"]), one["verdict"], *numbers, rate])
    heading = [html.tag("u", name) if name == fields["judged_by"] else name for name in names]
    return html.card(
        "Comparison",
        html.facts([("task", fields["task"]), *_data(fields)]),
        html.table(["rule", "verdict", *heading, "rate"], rows, left=2),
        html.note(
            f"Progressive metrics: each row was predicted before it was learned. Judged by {fields['judged_by']}."
        ),
        *(html.note(line) for line in baseline_lines(fields)),
    )


def rate_sweep(fields: Mapping[str, Any]) -> Html:
    """What `sweep` gave: the losses of all rates, a column for each rule."""
    rules = list(fields["rules"])
    grid = [row["rate"] for row in fields["rules"][rules[0]]]
    rows = []
    for k, rate in enumerate(grid):
        cells = []
        for rule in rules:
            one = fields["rules"][rule][k]
            cells.append(_strong(shown.number(one["loss"]), one["rate"] == fields["best"][rule]["rate"]))
        rows.append([f"{rate:.4g}", *cells])
    best = "" if fields["best_rule"] is None else f"{fields['best_rule']} at {fields['best_rate']:.4g}"
    return html.card(
        "RateSweep",
        html.facts([("task", fields["task"]), *_data(fields), ("best", best)]),
        html.table(["rate", *rules], rows, left=0),
        html.note(f"Progressive {fields['loss_function']} loss; - stands for a rate that diverged."),
    )


def metrics(fields: Mapping[str, Any]) -> Html:
    """Metrics side by side, as far as they are known."""
    known = {title: fields[name] for name, title in _METRICS.items() if fields[name]}
    if fields["metrics"] == fields["progressive"]:  # without held-out rows
        known.pop("progressive", None)
    names = list(dict.fromkeys(name for column in known.values() for name in column))
    rows = [[name, *(_metric(column.get(name)) for column in known.values())] for name in names]
    return html.table(["metric", *known], rows) if rows else Html("")


def baseline_lines(fields: Mapping[str, Any]) -> list[str]:
    """A line for each baseline of a stream that learners are compared with."""
    return [
        f"{name}: " + ", ".join(f"{metric} {shown.number(value)}" for metric, value in own.items())
        for name, own in fields["baselines"].items()
    ]


def top_features(ranked: list[Any]) -> Html:
    """The features that matter most, with bars."""
    if not ranked:
        return Html("")
    largest = max(value for _, value in ranked)
    rows = [[html.name(name), html.share_bar(value, largest), shown.number(value)] for name, value in ranked]
    return html.table(["feature", "importance", ""], rows, left=2)


def _data(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    counts = [f"{fields['learned']:,} learned"]
    said = {"held_out": "held out", "unlabeled": "without label", "skipped": "skipped"}
    counts += [f"{fields[name]:,} {words}" for name, words in said.items() if fields.get(name)]
    counts += [f"{fields['passes']} passes"] if fields.get("passes", 1) > 1 else []
    return [("data", html.name(fields["source"])), ("rows", ", ".join(counts))]


def _model(fields: Mapping[str, Any]) -> str:
    rate = _rate(fields["learning_rate"])
    bent = "" if fields["model_type"] == "linear" else f"{fields['model_type']}, "
    return f"{fields['features']:,} features; {bent}{fields['rule']}, {fields['loss_function']} loss, rate {rate}"


def _rate(rate: Any) -> str:
    if not isinstance(rate, Mapping):
        return f"{rate:.3g}"
    values = sorted(rate.values()) or [0.0]
    return f"{values[0]:.3g}" if values[0] == values[-1] else f"{values[0]:.3g} to {values[-1]:.3g}"


def _metric(value: Any) -> str:
    return shown.number(value) if isinstance(value, int | float) else ""


def _strong(content: Any, on: bool) -> Html:
    return html.tag("b", content) if on else html.text(content)

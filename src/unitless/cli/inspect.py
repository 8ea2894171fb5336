"""unitless inspect: what a model has learned, and why it predicts what it predicts."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any, Literal

from ..losses import LOSSES
from ..presentation import shown
from ..presentation.sections import Facts, Notes, Section, Table
from . import arguments, display, options
from .options import OUTPUT, Flag

if TYPE_CHECKING:
    from ..data.read_options import Reading
    from ..inference.explanation import Explanation
    from ..models.learner import Learner
    from ..models.one_vs_all import OneVsAll

NAME = "inspect"
EXAMPLES = """
[bold]Examples[/]

unitless inspect prices.unitless --top 50

unitless inspect clicks.unitless --all --csv > weights.csv

unitless inspect prices.unitless --explain '{"rooms": 3, "city": "Oslo"}'

unitless inspect prices.unitless --data new.csv --row 17

unitless inspect prices.unitless --plot curves.png
"""
FEATURES = "Which features"
EXPLAIN = "Explaining a prediction"
OPTIONS = (
    Flag("model", "The file of a model.", metavar="MODEL", argument=True, required=True),
    Flag("top", "How many features to show.", int, 20, short="-n", panel=FEATURES),
    Flag("every", "Show all features instead of --top of them.", bool, False, flag="--all", panel=FEATURES),
    Flag(
        "label",
        "The class to show, if the model has several. Default: for each feature the class that it moves most.",
        flag="--class",
        panel=FEATURES,
    ),
    Flag(
        "explain",
        'Show what each feature adds to the prediction of this row, such as \'{"age": 31, "job": "clerk"}\'. Default: '
        "none.",
        metavar="ROW",
        panel=EXPLAIN,
    ),
    Flag("data", "The file with the row to explain. Default: none.", panel=EXPLAIN, metavar="FILE"),
    Flag(
        "by",
        "Explain by column of the data, or by feature of the model: values of text columns, words, parts of dates and "
        "products, with their weights.",
        Literal["column", "feature"],
        "column",
        panel=EXPLAIN,
    ),
    Flag("row", "The number of the row in --data, counted from 1. Default: none.", int, panel=EXPLAIN),
    *options.FILES,
    Flag(
        "plot",
        "Write a picture of the model's curves to this file (.png, .svg or .pdf). Default: no picture.",
        panel=OUTPUT,
        metavar="FILE",
    ),
    Flag("as_csv", "Print the features as CSV, with all digits.", bool, False, flag="--csv", panel=OUTPUT),
    options.JSON,
)


def command(
    *,
    model: str,
    top: int,
    every: bool,
    label: str | None,
    explain: str | None,
    data: str | None,
    by: Literal["column", "feature"],
    row: int | None,
    plot: str | None,
    as_csv: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Show what a model has learned: the importance of its columns, and its weights by feature in the data's units.

    The importance of a column was measured by train: how much worse the predictions on held-out rows are without
    knowing it. The effect of a feature is |weight| · scale: how far it moves the score at most. It does not depend on
    the feature's unit; in a model with curves and trees, it includes what they do with the feature.
    """
    from ..errors import OptionError  # noqa: PLC0415

    if top < 1:
        raise OptionError(f"--top is {top}; it must be 1 or more")
    if as_csv and as_json:
        raise OptionError("--csv and --json exclude each other; give one")
    if plot is not None:
        from ..data.sources.files import File, check_output  # noqa: PLC0415
        from ..figures import check_path  # noqa: PLC0415

        check_path(plot)
        check_output(plot, [File(model)], "the picture", "the model")
    loaded = _loaded(model)
    if plot is not None:
        from ..plot.curves_of_models import curves as plot_curves  # noqa: PLC0415

        plot_curves(loaded, plot, label=label)
    if explain is None and data is None:
        if row is not None:
            raise OptionError("--row needs --data, the file that the row is in")
        _features(loaded, model, None if every else top, label, as_csv, as_json)
        return
    reading = arguments.reading(given, options.FILES)
    explanation = _explained(loaded, explain, data, row, label, reading)
    _show_explanation(loaded, explanation, by, None if every else top, as_csv, as_json)


def _loaded(path: str) -> Learner | OneVsAll:
    from ..models.file import load  # noqa: PLC0415
    from ..models.learner import Learner  # noqa: PLC0415
    from ..models.one_vs_all import OneVsAll  # noqa: PLC0415

    model = load(path)
    if not isinstance(model, Learner | OneVsAll):
        print(f"note: this is a sweep; its best rate is shown, {model.best_rate:g}", file=sys.stderr)
        best: Learner | OneVsAll = model.best
        return best
    return model


# ------------------------------------------------------------------------------------------------------------- features


def _features(
    model: Learner | OneVsAll, path: str, top: int | None, label: str | None, as_csv: bool, as_json: bool
) -> None:
    from ..inference import importance_summary  # noqa: PLC0415
    from ..inference.importance import stored  # noqa: PLC0415
    from ..models.extra_members import shares_shown  # noqa: PLC0415
    from ..models.model import BIAS  # noqa: PLC0415

    rows, total = ranked(model, top, label)
    several = "class" in rows[0] if rows else False
    if as_csv:
        _csv(["feature", *(["class"] if several else []), "weight", "scale", "effect"], rows)
        return
    about, importance = described(model, path), stored(model)
    if as_json:
        measured = None if importance is None else importance.asdict()
        print(json.dumps({**about, "importance": measured, "features": rows}, indent=2))
        return
    facts = [
        ("model", f"{path}: {about['kind']}"),
        ("memory", f"{display.count(about['memory_bytes'], 'byte')} when loaded"),
        ("task", about["task"] or ""),
        ("classes", shown.some(about["classes"] or [], 12)),
        ("options", ", ".join(f"{name} {value}" for name, value in about["options"].items())),
        ("model type", _model_type(about)),
        ("ensemble", shares_shown({name: of["share"] for name, of in (about["members"] or {}).items()})),
        ("learning rate", display.rates(about["learning_rate"])),
        ("sparsity", "" if about["sparsity"] is None else display.rates(about["sparsity"])),
        ("examples", f"{about['examples']:,}" + _weighing(about)),
        ("features", f"{about['feature_count']:,}" + _weighted(about)),
        ("trained", _trained(about["training"])),
        ("bias", "" if about["bias"] is None else display.number(about["bias"])),
    ]
    header = ["feature", *(["class"] if several else []), "weight", "scale", "effect"]
    cells = [
        [display.short(row[name]) if name in ("feature", "class") else _number(row[name]) for name in header]
        for row in rows
    ]
    notes = [f"{total - len(rows):,} more; --all shows them"] if total > len(rows) else []
    notes += [model._of_weights] if rows and model._of_weights else []
    notes += [f"no feature but the bias, {BIAS}, has been other than zero"] if model.examples and not rows else []
    known = Facts([(name, display.short(value, 400)) for name, value in facts])
    weights = Section("Weights by feature", [Table(header, cells, left=2 if several else 1), Notes(notes)])
    columns = importance_summary.section(importance, model.options.loss, max(1, len(rows)) if top else len(rows))
    display.show([Section("", [known]), columns, weights])


def ranked(model: Learner | OneVsAll, top: int | None, label: str | None) -> tuple[list[dict[str, Any]], int]:
    """Features by effect (for several classes, the largest over them), and how many features the model has."""
    import numpy as np  # noqa: PLC0415

    from ..errors import OptionError  # noqa: PLC0415
    from ..inference.explanation import class_number  # noqa: PLC0415
    from ..models.model import BIAS  # noqa: PLC0415
    from ..rules import RULES  # noqa: PLC0415

    reading = model._reading()
    several = model.task == "classes"
    if label is not None and not several:
        raise OptionError("--class is for models of several classes; this model has one set of weights")
    heads = list(range(model.heads))
    if label is not None:
        heads = [class_number(model, label)]
    if not heads:
        return [], 0
    lanes = [reading.leader(head) for head in heads]
    if model._mixes():
        found = model._form_reading().importance()
        names = list(found)
        effect = np.reshape([by_head[heads] for by_head in found.values()], (len(names), len(heads)))
    else:
        names, v = reading.features, np.abs(reading.v[:, lanes])
        effect = v if RULES[model.options.rule].unit_free else v * reading.state["scale"][:, None]
    best = effect.argmax(axis=1) if len(effect) else np.zeros(0, np.intp)
    most = effect.max(axis=1) if len(effect) else np.zeros(0)
    order = [k for k in np.argsort(-most, kind="stable").tolist() if names[k] != BIAS]
    shown = order[:top]
    weights = {head: reading.weights(lanes[head]) for head in {int(best[k]) for k in shown}}
    scales = reading.scales()
    rows = []
    for k in shown:
        name, head = names[k], int(best[k])
        row: dict[str, Any] = {"feature": str(name)}
        if several:
            row["class"] = str(model._class_labels[heads[head]])
        # a feature of an ensemble may have no linear term, and then it has neither weight nor scale
        row.update(weight=weights[head].get(name), scale=scales.get(name), effect=float(most[k]))
        rows.append(row)
    return rows, len(order)


def described(model: Learner | OneVsAll, path: str) -> dict[str, Any]:
    """Facts about a model, as plain values."""
    from ..data import Target  # noqa: PLC0415
    from ..data.progress import Progress  # noqa: PLC0415
    from ..models.model import BIAS  # noqa: PLC0415
    from ..options import Options  # noqa: PLC0415

    training = model._training
    target = Target.read(training["target"]) if training else None
    progress = Progress.read(training["progress"]) if training else None
    classes = target.classes if target and target.task == "binary" else None
    if model.task == "classes":
        classes = [str(label) for label in model._class_labels]
    default = Options().asdict()
    always = ("rule", "loss", "learning_rate")
    state = model._snapshot()
    features = [slot for slot in state["slots"].tolist() if slot]
    source = (training["source"] or []) if training else []
    return {
        "model": path,
        "kind": type(model).__name__,
        "task": str(target) if target else None,
        "target": training["schema"]["target"] if training else None,
        "classes": classes,
        "options": {k: v for k, v in model.options.asdict().items() if k in always or v != default[k]},
        "model_type": model.model_type,
        "members": _members(model),
        "learning_rate": _by_text(model.learning_rate),
        "sparsity": _by_text(model.sparsity) if model.options.sparse else None,
        "examples": model.examples,
        "weight": model.total_weight,
        "feature_count": len(features),
        "weights": _weights(model) if model.options.sparse else None,
        "memory_bytes": model.nbytes,
        "training": None
        if progress is None
        else {
            "source": [str(file[0]) for file in source if isinstance(file, list) and file],
            "rows": progress.rows,
            "learned": progress.learned,
            "skipped": progress.skipped,
            "held_out": progress.held,
            "passes": progress.passes,
            "done": progress.done,
        },
        "bias": None if model.task == "classes" else model.weights.get(BIAS),
    }


def _by_text(value: Any) -> Any:
    """A number, or numbers by class."""
    return {str(k): v for k, v in value.items()} if isinstance(value, dict) else value


def _weights(model: Learner | OneVsAll) -> int:
    """How many features have a weight, for some class."""

    reading = model._reading()
    leaders = [reading.leader(head) for head in range(model.heads)]
    return int(((reading.v[:, leaders] != 0).any(axis=1) & (reading.state["slots"] != 0)).sum())


def _weighted(about: dict[str, Any]) -> str:
    return "" if about["weights"] is None else f", of which {about['weights']:,} have a weight"


def _members(model: Learner | OneVsAll) -> dict[str, dict[str, Any]] | None:
    """The members of an ensemble: what each consists of, and its share in the predictions; None for one learner."""
    if not model._mixes():
        return None
    form = model._form_reading()
    shares = form.shares()
    return {
        member.name: {
            "share": shares[member.name],
            "curves": sum(len(curve.thresholds) > 0 for curve in member.curves.values()),
            "intervals": sum(len(curve.weights) for curve in member.curves.values() if len(curve.thresholds)),
            "trees": sum(len(tree.child) > 1 for tree in member.trees),
            "leaves": sum((len(tree.child) + 1) // 2 for tree in member.trees if len(tree.child) > 1),
        }
        for member in form.members
    }


def _model_type(about: dict[str, Any]) -> str:
    """The model type, and what it consists of, if it is more than linear."""
    with_curves = (about["members"] or {}).get("curves")
    if with_curves is None:
        return str(about["model_type"] or "auto (not chosen yet)")
    parts = [
        f"{display.count(with_curves['curves'], 'curve')} of {display.count(with_curves['intervals'], 'interval')}"
    ]
    if (trees := about["members"].get("trees")) is not None:
        parts.append(f"{display.count(trees['trees'], 'tree')} of {trees['leaves']:,} leaves")
    return f"{about['model_type']}: {', '.join(parts)}"


def _number(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else display.number(value)


def _weighing(about: dict[str, Any]) -> str:
    return "" if about["weight"] == about["examples"] else f", weighing {about['weight']:g}"


def _trained(training: dict[str, Any] | None) -> str:
    if training is None:
        return ""
    files = training["source"]
    if not training["rows"] and not files:  # a server's model: it learned what it was sent
        return ""
    on = f" of {files[0] if len(files) == 1 else display.count(len(files), 'file')}" if files else ""
    rows = f"{display.count(training['rows'], 'row')}{on}"
    if not training["done"]:
        return f"interrupted after {rows}; continue with train --resume"
    further = [f"{training['passes']} passes"] if training["passes"] > 1 else []
    further += [f"{training[name]:,} {name.replace('_', ' ')}" for name in ("skipped", "held_out") if training[name]]
    return ", ".join([rows, *further])


def _csv(header: list[str], rows: list[dict[str, Any]]) -> None:
    import csv  # noqa: PLC0415

    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(header)
    out.writerows([row[name] for name in header] for row in rows)


# ---------------------------------------------------------------------------------------------------------- explanation


def _explained(
    model: Learner | OneVsAll,
    text: str | None,
    data: str | None,
    row: int | None,
    label: str | None,
    reading: Reading,
) -> Explanation:
    from ..errors import InputError, OptionError  # noqa: PLC0415
    from ..inference.explanation import explain, explain_batch, row_of  # noqa: PLC0415

    if text is not None:
        if data is not None or row is not None:
            raise OptionError("--explain gives the row itself; leave out --data and --row")
        try:
            parsed = json.loads(text)
        except ValueError as error:
            raise InputError(f"--explain: this is not valid JSON: {error}; write it as '{{\"age\": 31}}'") from None
        return explain(model, parsed, label)
    if row is not None and row < 1:
        raise OptionError(f"--row is {row}; rows count from 1")
    if row is None:
        raise OptionError("--data needs --row, the number of the row to explain, counted from 1")
    return explain_batch(model, row_of(model, data, row, reading), label)


def _show_explanation(
    model: Learner | OneVsAll,
    why: Explanation,
    by: Literal["column", "feature"],
    top: int | None,
    as_csv: bool,
    as_json: bool,
) -> None:
    from ..inference.explanation import value_text  # noqa: PLC0415

    def plain(value: float | str) -> float | str | None:
        return None if isinstance(value, float) and math.isnan(value) else value

    columns: list[dict[str, Any]] = [
        {"column": str(p.column), "value": plain(p.value), "contribution": p.contribution} for p in why.contributions
    ]
    features: list[dict[str, Any]] = [
        {"feature": str(p.feature), "value": plain(p.value), "weight": p.weight, "contribution": p.contribution}
        for p in why.features
    ]
    rows = columns if by == "column" else features
    header = [by, "value", *(["weight"] if by == "feature" and why.weighed else []), "contribution"]
    blank = [""] * (len(header) - 2)
    for name in why.unknown:
        print(f"note: the model has no feature {display.short(repr(name))}; it was ignored", file=sys.stderr)
    if as_csv:
        _csv(header, rows)
        return
    if as_json:
        about = {
            "prediction": why.prediction,
            "class": None if why.label is None else str(why.label),
            "score": why.score,
            "limited": why.limited,
            "base_value": why.base_value,
            "contributions": columns,
            "features": features,
            "unknown": why.unknown,
        }
        print(json.dumps(about, indent=2))
        return
    shown = rows[:top]
    cells = [
        [
            display.short(row[by]),
            value_text(math.nan if row["value"] is None else row["value"]),
            *(_number(row[name]) for name in header[2:]),
        ]
        for row in shown
    ]
    if len(rows) > len(shown):
        rest = math.fsum(row["contribution"] for row in rows[len(shown) :])
        cells.append([f"({len(rows) - len(shown):,} others)", *blank, display.number(rest)])
    cells.append(["(base value)", *blank, display.number(why.base_value)])
    cells.append(["sum", *blank, display.number(why.score)])
    facts = [("class", "" if why.label is None else str(why.label)), ("prediction", _prediction(model, why))]
    limited = (
        f"the sum, {display.number(why.score)}, is beyond the labels seen in training: "
        f"the model keeps to {display.number(why.limited)}"
    )
    notes = Notes([*([limited] if why.limited != why.score else []), why.base_meaning])
    display.show([Section("", [Table(header, cells), Facts(facts), notes])])


def _prediction(model: Learner | OneVsAll, why: Explanation) -> str:
    said = why.prediction
    text = repr(said) if isinstance(said, float) else str(said).lower() if isinstance(said, bool) else str(said)
    if LOSSES[model.options.loss].link.gives_probabilities:
        p = float(model._link(why.limited))
        if why.label is not None:
            return f"{text} (for {why.label} against all others: {display.share(p)})"
        return f"{text} (probability of the positive label: {display.share(p)})"
    return text

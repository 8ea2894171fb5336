"""What was learned from what, and what was noticed in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from ... import shown
from ...html import Html, tag
from ...losses import LOSSES
from ...models.company import shares_shown
from ...page import bar, bar_table, facts, listed, paragraph
from . import words

if TYPE_CHECKING:
    from ..result import TrainResult

Say: TypeAlias = Callable[[str], str]

COLUMNS, BAD = 12, 5  # with missing values; rows that were skipped
_KINDS = {"number": "numeric", "flag": "with 0 and 1", "text": "text", "boolean": "true or false", "words": "words"}


def noticed(result: TrainResult, say: Say) -> Iterator[Html]:
    """Remarks about the rows and columns, and where values are missing."""
    notes = [*result.decisions, *result.notes]
    found = [f"{words.capital(shown.short(say(note), 400)).removesuffix('.')}." for note in notes]
    if result.skipped:
        found.append(
            f"{words.count(result.skipped, 'row')} could not be used and {words.were(result.skipped)} skipped."
        )
    if result.unlabelled:
        found.append(
            f"{words.count(result.unlabelled, 'row')} had no label and {words.were(result.unlabelled)} not learned."
        )
    for name, features in result.wide_columns()[:BAD]:
        found.append(
            f"Column {words.quoted(name)} gave {features:,} features, nearly one per row. If it only identifies rows, "
            "leave it out."
        )
    if result.missing:
        total = sum(result.missing.values())
        columns = f"{len(result.missing):,} column{'s' * (len(result.missing) != 1)}"
        found.append(f"{words.count(total, 'value')} {words.were(total)} missing, in {columns}.")
    if not found:
        yield paragraph("Nothing: no value was missing and no row had to be skipped.")
        return
    yield listed(found)
    if result.bad:
        yield listed(shown.short(bad, 200) for bad in result.bad[:BAD])
    if result.missing:
        ranked = sorted(result.missing.items(), key=lambda item: -item[1])
        rows = max(1, result.rows + result.skipped)
        lines = [
            [words.short(name), bar(count / rows), f"{count:,}", f"{min(1.0, count / rows):.1%}"]
            for name, count in ranked[:COLUMNS]
        ]
        yield bar_table(["column", "missing", "values", "of the rows"], lines)
        if ranked[COLUMNS:]:
            yield paragraph(f"{len(ranked) - COLUMNS:,} more columns have fewer.", kind="quiet")


def settings(result: TrainResult) -> Html:
    """The data, how it was gone through, and what was asked for."""
    options, plan = result.model.options, result.plan
    weights = {"averaged": "averaged over the training", "last": "the last ones"}[result.kept]
    way = f"fitted in random order ({result.shuffled})" if result.fitted else "followed in their own order"
    counts = [f"{words.count(result.rows, 'row')} read, {way}"]
    counts += [f"{result.learned:,} learned"]
    counts += [f"{result.held:,} held back for the score"] if result.held else []
    return facts(
        [
            ("data", shown.short(result.source, 300)),
            ("target", None if result.schema.target is None else words.short(result.schema.target)),
            ("task", shown.short(result.task, 200)),
            ("classes", _class_names(result)),
            ("rows", "; ".join(counts)),
            ("passes", f"{result.passes:,}" if result.passes else None),
            ("columns", _columns(result)),
            ("features", result.said_features),
            ("row weights", None if result.schema.weight is None else words.short(result.schema.weight)),
            ("offsets", None if result.schema.offset is None else words.short(result.schema.offset)),
            ("left out", ", ".join(map(words.short, result.reading.ignore[:20]))),
            ("learner", f"{options.rule}, {options.loss} loss, rate {words.rate(result.learning_rate)}"),
            ("sparsity", words.rate(result.model.sparsity) if options.sparse else None),
            ("shape", None if options.shape == "linear" else result.shape),
            ("experts", shares_shown(result.experts)),
            ("quantile", f"{options.quantile:g}" if LOSSES[options.loss].has_quantile else None),
            ("interactions", None if options.interactions is None else shown.short(str(options.interactions), 200)),
            ("hashed into", None if options.bits is None else f"{2**options.bits:,} places"),
            ("weights kept", weights),
            ("seed", str(plan.seed) if result.fitted or plan.holdout else None),
            ("time", f"{result.seconds:.1f} s"),
            ("model", None if result.path is None else shown.short(str(result.path), 300)),
            ("when", f"{result.when:%Y-%m-%d %H:%M %Z}"),
        ]
    )


def _class_names(result: TrainResult) -> str | None:
    if result.target.task != "classes":
        return None
    names = [words.short(name) for name in result.classes]
    return f"{len(names):,}: {', '.join(names[:10])}{', ...' if len(names) > 10 else ''}"


def _columns(result: TrainResult) -> str:
    kinds = Counter(_KINDS.get(kind, "dates") for _, kind in result.schema.columns)
    return ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())


def use(result: TrainResult) -> Iterator[Html]:
    """What to write to predict with the model, if it was saved."""
    if result.path is None:
        return
    path = shown.short(str(result.path), 200)
    yield tag("pre", f"unitless predict {path} new-rows.csv --output predictions.csv")
    yield tag("pre", f'import unitless as ul\n\nul.Predictor("{path}").predict("new-rows.csv")')

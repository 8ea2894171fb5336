"""What was learned from what, and what was noticed in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from ... import shown
from ...html import Html, tag
from ...losses import LOSSES
from ...models.extra_members import shares_shown
from ...page import bar, bar_table, facts, listed, paragraph
from . import words

if TYPE_CHECKING:
    from ..result import TrainResult

Say: TypeAlias = Callable[[str], str]

COLUMNS, BAD = 12, 5  # with missing values; rows that were skipped
_KINDS = {"number": "numeric", "flag": "with 0 and 1", "text": "text", "boolean": "true or false", "words": "words"}


def noticed(result: TrainResult, say: Say) -> Iterator[Html]:
    """Remarks about the rows and columns, and where values are missing."""
    notes = [*result.column_report, *result.notes]
    details = result.details
    found = [f"{words.capital(shown.short(say(note), 400)).removesuffix('.')}." for note in notes]
    if details.skipped:
        found.append(
            f"{words.count(details.skipped, 'row')} could not be used and {words.were(details.skipped)} skipped."
        )
    if details.unlabeled:
        found.append(
            f"{words.count(details.unlabeled, 'row')} had no label and {words.were(details.unlabeled)} not learned."
        )
    for name, features in details.wide_columns(result)[:BAD]:
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
    if details.skipped_rows:
        yield listed(shown.short(bad, 200) for bad in details.skipped_rows[:BAD])
    if result.missing:
        ranked = sorted(result.missing.items(), key=lambda item: -item[1])
        rows = max(1, result.rows + details.skipped)
        lines = [
            [words.short(name), bar(count / rows), f"{count:,}", f"{min(1.0, count / rows):.1%}"]
            for name, count in ranked[:COLUMNS]
        ]
        yield bar_table(["column", "missing", "values", "of the rows"], lines)
        if ranked[COLUMNS:]:
            yield paragraph(f"{len(ranked) - COLUMNS:,} more columns have fewer.", kind="quiet")


def settings(result: TrainResult) -> Html:
    """The data, how it was gone through, and what was asked for."""
    options, details = result.model.options, result.details
    plan, schema = details.plan, details.schema
    weights = {"averaged": "averaged over the training", "last": "those after the last row"}[result.selected]
    way = f"fitted in random order ({details.shuffled})" if result.fitted else "a stream, in their order"
    counts = [f"{words.count(result.rows, 'row')} read, {way}"]
    counts += [f"{details.learned:,} learned"]
    counts += [f"{details.held_out:,} held out"] if details.held_out else []
    return facts(
        [
            ("data", shown.short(result.source, 300)),
            ("target", None if schema.target is None else words.short(schema.target)),
            ("task", shown.short(result.task, 200)),
            ("classes", _class_names(result)),
            ("rows", "; ".join(counts)),
            ("passes", f"{result.passes:,}" if result.passes else None),
            ("columns", _columns(result)),
            ("features", details.features_shown(result)),
            (
                "row weights",
                None if schema.weight is None else words.short(schema.weight),
            ),
            ("offsets", None if schema.offset is None else words.short(schema.offset)),
            ("left out", ", ".join(map(words.short, details.reading.ignore[:20]))),
            ("learner", f"{options.rule}, {options.loss} loss, rate {words.rate(result.model.learning_rate)}"),
            ("sparsity", words.rate(result.model.sparsity) if options.sparse else None),
            ("model type", None if options.model_type == "linear" else result.model_type),
            ("members", shares_shown(result.model.members)),
            ("quantile", f"{options.quantile:g}" if LOSSES[options.loss].has_quantile else None),
            ("interactions", None if options.interactions is None else shown.short(str(options.interactions), 200)),
            ("hashed into", None if options.bits is None else f"{2**options.bits:,} places"),
            ("weights selected", weights),
            ("seed", str(plan.random_state) if result.fitted or plan.holdout else None),
            ("time", f"{result.seconds:.1f} s"),
            ("model", None if details.output is None else shown.short(str(details.output), 300)),
            ("when", f"{details.when:%Y-%m-%d %H:%M %Z}"),
        ]
    )


def _class_names(result: TrainResult) -> str | None:
    if result._target.task != "classes":
        return None
    names = [words.short(name) for name in result.classes]
    return f"{len(names):,}: {', '.join(names[:10])}{', ...' if len(names) > 10 else ''}"


def _columns(result: TrainResult) -> str:
    kinds = Counter(_KINDS.get(kind, "dates") for _, kind in result.details.schema.columns)
    return ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())


def use(result: TrainResult) -> Iterator[Html]:
    """What to write to predict with the model, if it was saved."""
    if result.details.output is None:
        return
    path = shown.short(str(result.details.output), 200)
    yield tag("pre", f"unitless predict {path} new-rows.csv --output predictions.csv")
    yield tag("pre", f'import unitless as ul\n\nul.Predictor("{path}").predict("new-rows.csv")')

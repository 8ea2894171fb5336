"""Makes the schema of a table from the inferred columns (`infer.py`) and the user's options."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from ...errors import InputError, Option, OptionError, Phrase
from ..labels import RawLabels, labels_of
from ..read_options import ReadOptions, from_the_end, matching, no_column
from . import arrow_column, dates, ngrams, tables
from .arrow_column import whole
from .infer import Asked, Inferred, infer_columns
from .policy import Policy
from .schema import DATES, SPLIT, TEXTS, Kind, LeftOut, Schema, check_names, first_rows, kind_of
from .written import PLAIN, is_text


def infer_schema(
    arrow: Any,
    options: ReadOptions,
    file: str,
    target_needed: bool,
    later: bool = False,
    rows: int | None = None,
    leave_out: bool = True,
    labels: Any = None,
) -> Schema:
    """Infer the schema of a table from its first rows.

    Args:
        arrow: the rows.
        options: the user's options about the columns.
        file: the name of the table in messages.
        target_needed: whether the table must have a target.
        later: whether ignored columns may appear in later rows only.
        rows: how many rows are used. Default: None, the usual number.
        leave_out: whether row counters and identifier columns are left out.
        labels: the labels of these rows, if they are not in the table. They decide, as those of the target do, whether
            the n-grams of names are features.
    """
    names: list[str] = list(arrow.column_names)
    check_names(names, file)
    roles = ("target", "weight", "offset", "groups")
    named = {option: from_the_end(getattr(options, option), names) for option in roles}
    options = replace(options, **named)
    for option, name in named.items():
        if name is not None and name not in names:
            raise OptionError(no_column(name, names, option), file=file)
    if options.groups is not None and options.groups == options.target:
        raise OptionError(f"is {options.groups!r}, which is the target; name another column", option="groups")
    if target_needed and options.target is None:
        which = Phrase("say which column to predict (", Option("target", "NAME"), f"); there are {_listed(names)}")
        raise OptionError(which, file=file)
    used = matching(options.only, names, "only") if options.only else set(names)
    used -= matching(options.ignore, names, "ignore", strict=not later)
    asked = _asked(options, names)
    features = [name for name in names if name in used and name not in asked.used]
    first = first_rows(len(names)) if rows is None else rows
    wanted = [*features, *([options.target] if options.target is not None else [])]
    heads = {name: arrow.column(name).slice(0, first) for name in wanted}
    for name, head in heads.items():
        if kind_of(head.type) is None:
            raise InputError(f"{file}: column {name!r} holds {head.type}, which is neither numbers nor text; ignore it")
    inferred = infer_columns(heads, options.policy.marks, asked)
    target_kind = None if options.target is None else _target_kind(options.target, inferred, heads, file)
    if options.target is not None:
        how = {options.target: inferred[options.target].written}
        as_read = Schema("table", (), options.target, target_kind, written=how)
        labels = tables.raw_labels(whole(heads[options.target]), as_read, options.policy)[0]
    elif labels is not None:
        labels = labels_of(labels[:first])
    inferred |= _ngrams(features, inferred, heads, labels, options.policy)
    left_out = [
        LeftOut(name, inferred[name].left_out, "text" if inferred[name].kind == "text" else "numbers")
        for name in features
        if inferred[name].left_out
    ]
    if not leave_out or len(left_out) == len(features):  # otherwise no feature would be left
        left_out = []
    dropped = {one.name for one in left_out}
    columns = []
    for name in features:
        kind = inferred[name].kind
        if kind in DATES and options.dates == "error":
            raise _dates_refused(name, heads[name].type, file)
        if name not in dropped and kind is not None:
            columns.append((name, kind))
    if not columns:
        raise InputError(f"{file}: no column is left to learn from; there are {_listed(names)}")
    written = {name: inferred[name].written for name in wanted if inferred[name].written != PLAIN}
    written = {name: how for name, how in written.items() if name not in dropped}
    target_and_weight = options.target, target_kind, options.weight
    remarks = _remarks(columns, inferred)
    return Schema(
        "table",
        tuple(columns),
        *target_and_weight,
        written,
        tuple(left_out),
        remarks=remarks,
        offset=options.offset,
        groups=options.groups,
    )


def _target_kind(target: str, inferred: dict[str, Inferred], heads: dict[str, Any], file: str) -> Kind | None:
    """Return the kind of the target."""
    kind = inferred[target].kind
    kind = "number" if kind == "flag" else "text" if kind in SPLIT else kind
    if kind == "boolean" and _is_spelled_alike(heads[target]):
        kind = "text"  # predictions then write TRUE as the data does
    if kind not in ("number", *TEXTS):
        raise InputError(f"{file}: the target {target!r} holds dates; a target is numbers or classes")
    return kind


def _ngrams(
    features: list[str], inferred: dict[str, Inferred], heads: dict[str, Any], labels: RawLabels | None, policy: Policy
) -> dict[str, Inferred]:
    """Return the columns of names whose n-grams are features: those that predict the labels, or have no alternative."""
    names = [name for name in features if inferred[name].names]
    if labels is None or not names:
        return {}
    alone = all(inferred[name].left_out for name in features)  # otherwise no feature would be left
    found: dict[str, Inferred] = {}
    for name in names:
        column = arrow_column.text(whole(heads[name]), policy)[0]
        if alone or ngrams.predict_labels(column, labels):
            found[name] = Inferred("ngrams")
    return found


def _is_spelled_alike(column: Any) -> bool:
    """Return whether the booleans of a text file have at most two spellings, such as TRUE and FALSE."""
    return is_text(column.type) and len(set(map(str.strip, filter(None, column.unique().to_pylist())))) <= 2


def _remarks(columns: list[tuple[str, Kind]], inferred: dict[str, Inferred]) -> tuple[Phrase, ...]:
    """Return notes about inferred column types that could be others."""
    return tuple(
        dates.ambiguity(name, inferred[name].written.date, inferred[name].ambiguous)
        for name, _ in columns
        if inferred[name].ambiguous
    )


def _asked(options: ReadOptions, names: list[str]) -> Asked:
    """Return what the options say about the existing columns."""
    uses = ("text", "words", "ngrams")
    named = {use: frozenset(matching(getattr(options, use), names, use)) for use in uses}
    for use, other in itertools.combinations(uses, 2):
        if both := sorted(named[use] & named[other]):
            raise OptionError(
                Phrase(Option(use), " and ", Option(other), f" both name column {both[0]!r}"),
                advice="the features of a column of text are categories, words or n-grams",
            )
    return Asked(
        named["text"],
        named["words"],
        named["ngrams"],
        frozenset(matching(options.numbers, names, "numbers")),
        frozenset(options.not_features),
        options.decimal,
        options.thousands,
        options.dates,
    )


def _dates_refused(name: str, type: Any, file: str) -> InputError:
    return InputError(
        f"column {name!r} holds dates or times ({type}), which a model cannot use as they are",
        advice=Phrase(
            *("leave it out (", Option("ignore", name), "), take its parts as features ("),
            *(Option("dates", "parts"), "), or treat it as text (", Option("text", name), ")"),
        ),
        file=file,
    )


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")

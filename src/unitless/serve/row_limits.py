"""How large a row may be that is to be learned. It is checked before a row is written into the log."""

from __future__ import annotations

from ..presentation.shown import short
from .events import Choice, Row
from .problems import Problem
from .settings import Settings

COMBINATIONS = 20  # times as many pairs of features (of the context and of an action) as features


class RowLimits:
    """The limits of rows."""

    def __init__(self, settings: Settings) -> None:
        self.features, self.name_length, self.bytes = (
            settings.max_row_features,
            settings.max_name_length,
            settings.max_row_bytes,
        )

    def check(self, row: Row, size: int) -> None:
        """Check that a row can be learned, now or when its label arrives.

        Args:
            row: which.
            size: the bytes of its JSON; in few bytes no name is long.

        Raises:
            Problem: 422 if it has too many features, or one with a long name.
        """
        features = row.features
        if features is not None and len(features) > self.features:
            raise _problem(
                f"The row has {len(features):,} features; it can have {self.features:,} (max_row_features).",
                "Leave out those that do not matter, or raise the setting.",
            )
        if size > self.name_length:
            self._check_lengths(row)

    def check_choice(self, choice: Choice, size: int) -> None:
        """Check that a decision can be made in a moment, and its reward be learned.

        Args:
            choice: which.
            size: the bytes of its JSON.

        Raises:
            Problem: 422 if it has too many actions or features, or one with a long name.
        """
        actions, context = choice.actions, choice.context
        names = list(actions) if isinstance(actions, dict) else [one for one in actions if not isinstance(one, dict)]
        parts = actions.values() if isinstance(actions, dict) else [one for one in actions if isinstance(one, dict)]
        self.check(Row(context), size)
        for part in parts:
            self.check(Row(part), size)
        pairs, most = (len(actions) + sum(map(len, parts))) * (1 + len(context)), COMBINATIONS * self.features
        if pairs > most:
            raise _problem(
                f"{len(actions):,} actions and {len(context):,} features of the context make {pairs:,} pairs; "
                f"a decision can have {most:,} ({COMBINATIONS} x max_row_features).",
                "Offer fewer actions, leave out features, or raise the setting.",
            )
        if len(set(map(str, names))) < len(names):
            raise Problem(422, "the row cannot be used", 'An action is on offer twice; 1 and "1" are the same name.')
        for name in names if size > self.name_length else ():
            if len(str(name)) > self.name_length:
                raise self._too_long("The name of an action", str(name))

    def _check_lengths(self, row: Row) -> None:
        if isinstance(row.label, str) and len(row.label) > self.name_length:
            raise self._too_long("The label", row.label)
        if not isinstance(row.features, dict):
            return
        for name, value in row.features.items():
            if len(name) > self.name_length:
                raise self._too_long("The name of a feature", name)
            if isinstance(value, str) and len(value) > self.name_length:
                raise self._too_long(f"The text of {short(repr(name), 60)}", value)

    def _too_long(self, what: str, text: str) -> Problem:
        most = f"it can have {self.name_length:,} (max_name_length)"
        return _problem(
            f"{what} has {len(text):,} letters; {most}: {short(repr(text), 60)}.",
            "Shorten it, leave it out, or raise the setting.",
        )

    def too_large(self, size: int) -> Problem:
        """A row has too many bytes."""
        detail = f"The row has {size:,} bytes; a row can have {self.bytes:,} (max_row_bytes)."
        return Problem(413, "the row is too large", f"{detail} Many rows are sent as JSON lines, CSV or Arrow.")


def _problem(what: str, advice: str) -> Problem:
    return Problem(422, "the row is too large", f"{what} {advice}")

"""Which column of the data a feature was made of: a value of a text column, a word, a part of a date."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import date_parts
from .schema import DATES, Schema


class FeatureColumns:
    """The column of each feature, by the feature's name.

    Args:
        columns: the names and kinds of a table's columns. Default: none, so that a feature `name=value` is of column
            `name`, as in rows of named features.

    Example:
        >>> from unitless.data.columns.feature_columns import FeatureColumns
        >>> columns = FeatureColumns([("job", "text"), ("hired", "date"), ("a=b", "number")])
        >>> [columns.of(name) for name in ("job=clerk", "hired.weekday=mon", "hired.yearday.sin", "a=b")]
        ['job', 'hired', 'hired', 'a=b']
    """

    def __init__(self, columns: Iterable[tuple[str, Any]] = ()) -> None:
        columns = list(columns)
        self.kinds = dict(columns)
        self._columns = {name: name for name in self.kinds}
        for name, kind in columns:
            if kind in DATES:
                for part in date_parts.kinds(name, kind):
                    self._columns.setdefault(part, name)

    @classmethod
    def of_training(cls, training: dict[str, Any] | None) -> FeatureColumns:
        """Return the columns that the record of a training knows; None stands for no record."""
        return cls() if training is None else cls(Schema.read(training["schema"]).columns)

    def of(self, feature: str | int) -> str | int:
        """Return the column of a feature. A feature with a number is a column itself."""
        if isinstance(feature, int) or feature in self._columns:
            return self._columns.get(feature, feature) if isinstance(feature, str) else feature
        end = feature.find("=")
        if not self._columns:
            return feature if end < 0 else feature[:end]
        while end >= 0:
            if feature[:end] in self._columns:
                return self._columns[feature[:end]]
            end = feature.find("=", end + 1)
        return feature

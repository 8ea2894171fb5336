"""The array "target" of a state: the learned unit and offset of the labels (core/encoding/label_unit.hpp)."""

from __future__ import annotations

FIELDS = ("started", "center", "weight", "sum", "square", "far_rows", "limited")
FAR_ROWS = FIELDS.index("far_rows")

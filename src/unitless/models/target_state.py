"""The array "target" of a state: the learned unit and offset of the labels (core/preparation/target.hpp)."""

from __future__ import annotations

FIELDS = ("started", "center", "weight", "sum", "square", "far_rows", "limited")
FAR_ROWS, LIMITED = FIELDS.index("far_rows"), FIELDS.index("limited")

"""States of counts, as model files store them: written and read in one way, and classes are matched by label."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelFileError
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll


class Stored:
    """Counts that are stored: numbers, arrays of numbers, and parts that are counts themselves."""

    STORED: ClassVar[tuple[str, ...]]
    """The names of the attributes that are stored. New counts have values of the same types."""

    def state(self) -> dict[str, Any]:
        """The counts as JSON-compatible values, with every float in hexadecimal."""
        return {name: _written(getattr(self, name)) for name in self.STORED}

    def restore(self, state: Any) -> None:
        """Continue from a state; raises ValueError, KeyError or TypeError if the state is invalid."""
        for name in self.STORED:
            setattr(self, name, _read(state[name], getattr(self, name)))
        self._check()

    def _check(self) -> None:
        """Raise ValueError if the restored counts are impossible."""


def _written(value: Any) -> Any:
    if isinstance(value, Stored):
        return value.state()
    if isinstance(value, np.ndarray):
        return [_written(one) for one in value.tolist()]
    return value.hex() if isinstance(value, float) else value


def _read(stored: Any, like: Any) -> Any:
    """A value from its stored form; `like` is a value of the same type."""
    if isinstance(like, Stored):
        like.restore(stored)
        return like
    if isinstance(like, float):
        return float.fromhex(stored)
    if isinstance(like, np.ndarray) and type(stored) is list:
        return np.array([_read(one, like.dtype.type(0).item()) for one in stored], like.dtype)
    if type(stored) is not type(like):
        raise ValueError(f"{stored!r} in the place of a value like {like!r}")
    return stored


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn every error in the block into an error that says that the state is not one of `what`."""
    try:
        yield
    except ModelFileError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise ModelFileError(f"this is not the state of {what}: {error}") from None


def places_of(state: dict[str, Any], model: Learner | OneVsAll) -> NDArray[np.intp]:
    """The model's numbers of the classes in a state, in the order of the state."""
    numbers = {label: number for number, label in enumerate(model._class_labels)}
    with reading("what names its classes"):
        places = {label: numbers.get(label, -1) for label in state["classes"]}
    strange = [label for label, place in places.items() if place < 0]
    if strange:
        raise ModelFileError(f"class {strange[0]!r} has been counted, but the model does not have it")
    return np.array(list(places.values()), dtype=np.intp)

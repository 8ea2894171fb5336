"""Reading states: errors have one form, and classes are matched by label."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelFileError
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll


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

"""Values of a wrong type are always refused by an error of this package."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import unitless as ul


@pytest.mark.parametrize("holdout", ["x", [], b"x", np.array([0.5]), -0.1, 1.0])
def test_a_holdout_that_is_not_a_number(holdout: Any) -> None:
    with pytest.raises(ul.OptionError, match="holdout"):
        ul.train([[1.0], [2.0]], target=[0.5, 1.5], holdout=holdout)


def test_a_label_that_no_float_can_hold() -> None:
    with pytest.raises(ul.InputError, match="target"):
        ul.train(np.ones((2, 1)), target=[10**400, 1])

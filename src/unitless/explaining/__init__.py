"""The public name of `unitless.inference.explanation`."""

from ..aliases import stand_for
from ..inference.explanation import *  # noqa: F403  (so that type checkers know what is in it)

stand_for(__name__, "unitless.inference.explanation")

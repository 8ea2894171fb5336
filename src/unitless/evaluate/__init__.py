"""The public name of `unitless.evaluation.evaluation`."""

from ..aliases import stand_for
from ..evaluation.evaluation import *  # noqa: F403  (so that type checkers know what is in it)

stand_for(__name__, "unitless.evaluation.evaluation")

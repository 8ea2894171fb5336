"""The public name of `unitless.research.theory`."""

from .aliases import stand_for
from .research.theory import *  # noqa: F403  (so that type checkers know what is in it)

stand_for(__name__, "unitless.research.theory")

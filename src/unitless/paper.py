"""The public name of `unitless.research.paper`."""

from .aliases import stand_for
from .research.paper import *  # noqa: F403  (so that type checkers know what is in it)

stand_for(__name__, "unitless.research.paper")

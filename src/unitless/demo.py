"""The public name of `unitless.research.demo`."""

import sys

from .aliases import stand_for
from .research.demo import *  # noqa: F403  (so that type checkers know what is in it)
from .research.demo import main

if __name__ == "__main__":
    main(*sys.argv[1:2])
else:
    stand_for(__name__, "unitless.research.demo")

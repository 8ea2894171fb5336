"""python -m unitless: the same as the command `unitless`."""

import sys

from .cli import main

sys.exit(main())

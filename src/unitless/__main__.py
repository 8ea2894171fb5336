"""python -m unitless: the same as the command `unitless`."""

import sys

from .cli import main

if __name__ == "__main__":  # processes that this one starts may read the file too
    sys.exit(main())

"""`python -m unitless` does what the command `unitless` does."""

import sys

from .cli import main

if __name__ == "__main__":  # worker processes import this file too
    sys.exit(main())

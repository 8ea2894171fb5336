"""The command line: unitless train | predict | evaluate | compare | sweep | inspect | merge | convert | serve | log |
paper | demo.

Exit codes: 0 success, 1 bad data, 2 bad usage, 130 interrupted. Modules are imported when they are needed, so that
--help answers at once.
"""

from __future__ import annotations

import io
import os
import sys


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    if sys.stdout is None:  # the calling process has closed it
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    _print_any_character()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's idle threads take processor time
    from .app import run  # noqa: PLC0415  (after the settings above)

    return run(arguments)


def _print_any_character() -> None:
    """Print \\u0142 where the encoding of the standard output has no such character, as the standard error does."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())

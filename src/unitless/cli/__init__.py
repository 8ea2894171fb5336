"""The command line: unitless train | predict | score | evaluate | sweep | inspect | merge | convert | serve | log |
paper | demo.

Exit codes: 0 good, 1 bad data, 2 bad usage, 130 interrupted. Nothing is imported before it is needed, so that --help
answers at once.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from . import quick


def main(arguments: list[str] | None = None) -> int:
    """Run a command; gives its exit code."""
    if sys.stdout is None:  # closed by whoever started it
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    _print_any_character()
    given = quick.read(sys.argv[1:] if arguments is None else arguments)
    try:
        if given is not None:
            return _train(given)
        from .app import run  # noqa: PLC0415  (typer is an extra)
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        print("unitless: the command line needs more: pip install 'unitless[cli]'", file=sys.stderr)
        return 2
    return run(arguments)


def _print_any_character() -> None:
    """Print \\u0142 where the encoding of the standard output has no such character, as the standard error does."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _train(given: dict[str, Any]) -> int:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads would only wait, and not quietly
    from .failures import answered, interruptible  # noqa: PLC0415
    from .train_action import carry_out  # noqa: PLC0415

    return answered(lambda: interruptible(lambda: carry_out(given)))


if __name__ == "__main__":
    sys.exit(main())

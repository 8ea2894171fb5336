"""Errors as one message and an exit code: 1 bad data, 2 bad usage, 130 interrupted."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable

from ..errors import NOT_GIVEN, Error, Option, OptionError, Phrase


def flag(option: Option) -> str:
    """An option as the command line has it: on_error='skip' is --on-error skip. Others stay as they are."""
    from .commands import by_library_name  # noqa: PLC0415  (most commands do not fail)

    known = by_library_name().get(option.name)
    if known is None:
        return str(option)
    if option.value is NOT_GIVEN:
        return known.written
    if known.kind is bool:
        if known.off and not option.value:
            return known.off
        return known.written if known.value(True) == option.value else str(option)
    value = str(option.value)
    return f"{known.written} '{value}'" if " " in value else f"{known.written} {value}"


def written(text: str) -> str:
    """A text whose options are written as on the command line."""
    parts = text.parts if isinstance(text, Phrase) else (text,)
    return "".join(flag(part) if isinstance(part, Option) else str(part) for part in parts)


def failed(message: str, code: int) -> int:
    """Print why a command failed, and return the exit code."""
    print(f"unitless: {message}", file=sys.stderr)
    return code


def answered(action: Callable[[], int]) -> int:
    """Run an action and return its exit code, or that of its failure."""
    try:
        code = action()
        sys.stdout.flush()
    except OptionError as error:
        return failed(error.text(flag), 2)
    except Error as error:
        return failed(error.text(flag), 1)
    except KeyboardInterrupt:
        return failed("stopped", 130)
    except BrokenPipeError:
        return _unread()
    except SystemExit as stop:
        if _is_pipe_error(stop):
            return _unread()
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0
        return failed(str(stop.code), 1)  # as Python itself does with a text
    except MemoryError:
        return failed("there is not enough memory; fewer features (--ignore, --bits) need less", 1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return failed(f"{where}{error.strerror or error}", 1)
    return code


def _is_pipe_error(stop: SystemExit) -> bool:
    """Whether typer turned a closed output pipe into this exit."""
    return isinstance(stop.__context__, OSError) and stop.__context__.errno == errno.EPIPE


def _unread() -> int:
    """Discard further output: the reader of the pipe, such as `head`, has closed it. The exit code is 0."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0

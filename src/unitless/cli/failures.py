"""Errors as one message and an exit code: 1 bad data, 2 bad usage, 130 interrupted."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable

from ..errors import Error, OptionError

# Options that the library's messages call by their Python names.
_OPTIONS = (
    *("target", "weight", "task", "positive", "loss", "rule", "learning_rate", "centre", "interactions", "bits"),
    *("passes", "holdout", "seed", "model", "resume", "checkpoint", "ignore", "only", "text", "numbers", "dates"),
    *("missing", "on_error", "format", "delimiter", "encoding", "inputs", "dtype"),
)


def as_options(message: str) -> str:
    """The library's advice in the command line's words: on_error='skip' is --on-error skip."""

    def flag(match: re.Match[str]) -> str:
        name, value = match[1], match[2].strip("'\"")
        if name == "header":
            return "--no-header"
        if name == "zero_based":
            return "--zero-based"
        return f"--{'rate' if name == 'learning_rate' else name.replace('_', '-')} {value}"

    message = message.replace(" (--no-header)", "")
    message = re.sub(
        r"\b(target|weight|ignore|only|text|numbers): there is no column", r"--\1: there is no column", message
    )
    names = "|".join([*_OPTIONS, "header", "zero_based"])
    # What is quoted, and is not an option's own value, is the user's: names of features, columns and files stay.
    advice = re.compile(rf"\b({names})=('[^']*'|\"[^\"]*\"|\w+)|(?<!\w)('[^']*'|\"[^\"]*\")")
    message = advice.sub(lambda match: match[0] if match[1] is None else flag(match), message)
    message = message.replace("checkpoint needs to know where to save the model", "--checkpoint needs --model")

    def named(match: re.Match[str]) -> str:
        name = match[1]
        return (
            f"--{'rate' if name == 'learning_rate' else name.replace('_', '-')} is " if name in _OPTIONS else match[0]
        )

    return re.sub(r"^(\w+) is ", named, message)


def failed(message: str, code: int) -> int:
    """Say why, in the command line's words; gives the code."""
    print(f"unitless: {as_options(message)}", file=sys.stderr)
    return code


def answered(action: Callable[[], int]) -> int:
    """The exit code that an action gives, or that of its failure."""
    try:
        code = action()
        sys.stdout.flush()
    except OptionError as error:
        return failed(str(error), 2)
    except Error as error:
        return failed(str(error), 1)
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
        return failed("there is not enough memory; fewer features (ignore, bits) need less", 1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return failed(f"{where}{error.strerror or error}", 1)
    return code


def _is_pipe_error(stop: SystemExit) -> bool:
    """Whether typer made this exit of an output that nobody reads any more."""
    return isinstance(stop.__context__, OSError) and stop.__context__.errno == errno.EPIPE


def _unread() -> int:
    """Whoever read the output has had enough, as `head` has. What Python still wants to print goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def interruptible(command: Callable[[], int], stopped: str = "stopped; nothing was saved") -> int:
    """Ctrl-C is an answer like any other."""
    try:
        return command()
    except KeyboardInterrupt:
        return failed(stopped, 130)

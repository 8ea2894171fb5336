"""The commands, put together; errors turned into one message and an exit code."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from ..errors import Error, OptionError
from . import convert, demo, evaluate, inspect, merge, paper, predict, sweep, train


def _interruptible(command: Callable[..., None], stopped: str) -> Callable[..., None]:
    """Ctrl-C is an answer like any other."""

    @functools.wraps(command)
    def wrapped(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except KeyboardInterrupt:
            raise typer.Exit(_failed(stopped, 130)) from None

    return wrapped


app = typer.Typer(
    name="unitless",
    help="Online learning that does not care about units: from any file to a model, in one pass, nothing to tune.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (train, predict, evaluate, sweep, inspect, merge, convert, paper, demo):
    app.command(command.NAME, epilog=command.EXAMPLES)(
        _interruptible(command.command, getattr(command, "STOPPED", "stopped; nothing was saved"))
    )


def _version(asked: bool) -> None:
    if asked:
        from ..version import __version__  # noqa: PLC0415

        print(f"unitless {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


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
    message = re.sub(rf"\b({names})=('[^']*'|\"[^\"]*\"|\w+)", flag, message)
    message = message.replace("checkpoint needs to know where to save the model", "--checkpoint needs --model")

    def named(match: re.Match[str]) -> str:
        name = match[1]
        return (
            f"--{'rate' if name == 'learning_rate' else name.replace('_', '-')} is " if name in _OPTIONS else match[0]
        )

    return re.sub(r"^(\w+) is ", named, message)


def run(arguments: list[str] | None = None) -> int:
    """Run a command; gives its exit code."""
    try:
        code = app(arguments, standalone_mode=False)
        sys.stdout.flush()
    except OptionError as error:
        return _failed(str(error), 2)
    except Error as error:
        return _failed(str(error), 1)
    except typer.Exit as stop:
        return stop.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _failed("stopped", 130)
    except (BrokenPipeError, SystemExit):  # whoever read the output has had enough; typer makes an exit of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        return _failed("there is not enough memory; fewer features (ignore, bits) need less", 1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _failed(f"{where}{error.strerror or error}", 1)
    except Exception as error:
        usage = getattr(error, "format_message", None)  # of a command that was not understood
        if usage is None:
            raise
        if not usage():  # the help was asked for, by saying nothing
            return 2
        context = getattr(error, "ctx", None)
        hint = f"\nTry: {context.command_path} --help" if context is not None else ""
        return _failed(f"{usage()}{hint}", 2)
    return code if isinstance(code, int) else 0


def _failed(message: str, code: int) -> int:
    print(f"unitless: {as_options(message)}", file=sys.stderr)
    return code

"""The commands, put together, and what is made of commands that were not understood."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any

import typer

from ..errors import Error
from . import convert, demo, evaluate, failures, inspect, merge, paper, predict, sweep, train
from .failures import failed


def _interruptible(command: Callable[..., None], stopped: str) -> Callable[..., None]:
    """Ctrl-C is an answer like any other."""

    @functools.wraps(command)
    def wrapped(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except KeyboardInterrupt:
            raise typer.Exit(failed(stopped, 130)) from None

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


def run(arguments: list[str] | None = None) -> int:
    """Run a command; gives its exit code."""
    return failures.answered(lambda: _run(arguments))


def _run(arguments: list[str] | None) -> int:
    try:
        code = app(arguments, standalone_mode=False)
    except typer.Exit as stop:
        return stop.exit_code
    except typer.Abort:
        return failed("stopped", 130)
    except (Error, OSError, MemoryError):
        raise
    except Exception as error:
        usage = getattr(error, "format_message", None)  # of a command that was not understood
        if usage is None:
            raise
        if not usage():  # the help was asked for, by saying nothing
            return 2
        context = getattr(error, "ctx", None)
        hint = f"\nTry: {context.command_path} --help" if context is not None else ""
        return failed(f"{usage()}{hint}", 2)
    return code if isinstance(code, int) else 0

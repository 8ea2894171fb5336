"""The commands, put together, and what is made of commands that were not understood."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from types import ModuleType
from typing import Annotated, Any

import typer

from ..errors import Error
from . import failures
from .commands import GROUPS, examples
from .failures import failed
from .options import Flag


def _declared(option: Flag) -> inspect.Parameter:
    """An option as typer takes it."""
    kind = list[str] if option.many else option.kind
    kind = kind | None if option.default is None and not option.required else kind
    info: Any
    if option.argument:
        info = typer.Argument(metavar=option.metavar or None, help=option.help, show_default=not option.required)
    else:
        info = typer.Option(
            *([f"{option.written}/{option.off}"] if option.off else option.names),
            help=option.help,
            metavar=option.metavar or None,
            min=option.least,
            rich_help_panel=option.panel or None,
            show_default=not option.required,
        )
    default = inspect.Parameter.empty if option.required else option.default
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def _typed(command: ModuleType) -> Callable[..., None]:
    """A command as typer takes it. Ctrl-C is an answer like any other."""

    def called(**given: Any) -> None:
        try:
            code = command.command(**given)
        except KeyboardInterrupt:
            code = failed(getattr(command, "STOPPED", "stopped; nothing was saved"), 130)
        if code:
            raise typer.Exit(code)

    parameters = [_declared(option) for option in command.OPTIONS]
    called.__doc__ = command.command.__doc__
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return called


app = typer.Typer(
    name="unitless",
    help="Online learning that does not care about units: from any file to a model, with nothing to tune.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _in_short(command: ModuleType) -> str:
    """A line about a command, and an example."""
    about = (inspect.getdoc(command.command) or "").partition("\n")[0]
    return f"{about}\n[dim]{examples(command)[0]}[/]"


for _group, _commands in GROUPS.items():
    for _command in _commands:
        app.command(_command.NAME, short_help=_in_short(_command), epilog=_command.EXAMPLES, rich_help_panel=_group)(
            _typed(_command)
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


# What typer says about values, and what users should read instead.
_WORDS = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "it must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "it must be a number",
}


# Commands that people look for, and where they find what they want.
_ELSEWHERE = {"explain": "unitless inspect MODEL --explain '{\"age\": 31}'", "score": "unitless evaluate MODEL DATA"}


def _plain(message: str) -> str:
    for theirs, ours in _WORDS.items():
        message = message.replace(theirs, ours)
    return message


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
        if re.search(r"No such option: (--\w+_\w|-[dfiqpl]\b)", usage()):
            hint = f"\nVowpal Wabbit's options have other names here: docs/vowpal-wabbit-options.md{hint}"
        for name, command in _ELSEWHERE.items():
            hint = f"\nTry: {command}" if f"No such command '{name}'" in usage() else hint
        return failed(f"{_plain(usage())}{hint}", 2)
    return code if isinstance(code, int) else 0

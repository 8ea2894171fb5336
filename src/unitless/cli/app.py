"""The program: all commands as typer takes them, and messages for command lines that are not understood."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Annotated, Any, Literal, get_origin

import typer
from typer.core import TyperCommand

from ..errors import Error
from . import failures
from .commands import COMMANDS, GROUPS, examples
from .failures import failed
from .options import Flag


def _declared(option: Flag) -> inspect.Parameter:
    """Convert an option to the parameter that typer takes."""
    kind = list[str] if option.many else option.kind
    kind = kind | None if option.default is None and not option.required else kind
    info: Any
    if option.argument:
        info = typer.Argument(metavar=option.metavar or None, help=option.text, show_default=False)
    else:
        info = typer.Option(
            *([f"{option.written}/{option.off}"] if option.off else option.names),
            help=option.text,
            metavar=None if get_origin(option.kind) is Literal else option.value_name,
            min=option.least,
            rich_help_panel=option.panel or None,
            show_default=False,
        )
    default = inspect.Parameter.empty if option.required else option.default
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


_ALL = "unitless.help_all"  # the key in a context's meta that asks for a help with the advanced options


class _Command(TyperCommand):
    """A command whose help leaves out the advanced options unless --help-all is given; shells complete all of them."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        rare = {
            one.name for command in COMMANDS if self.name == command.NAME for one in command.OPTIONS if one.advanced
        }
        left_out: list[Any] = [one for one in self.params if one.name in rare and not ctx.meta.get(_ALL)]
        for parameter in left_out:
            parameter.hidden = True
        super().format_help(ctx, formatter)
        for parameter in left_out:
            parameter.hidden = False


def _show_all(context: typer.Context, asked: bool) -> None:
    """Print the help with the advanced options, and stop."""
    if asked:
        context.meta[_ALL] = True
        typer.echo(context.get_help())
        raise typer.Exit


def _help_all(options: Sequence[Flag]) -> list[inspect.Parameter]:
    """The option --help-all, for a command that has advanced options; otherwise nothing."""
    named = [option for option in options if not option.argument]
    usual = sum(not option.advanced for option in named)
    if usual == len(named):
        return []
    about = f"Show all {len(named)} options; --help shows the {usual} most used."
    info = typer.Option("--help-all", callback=_show_all, is_eager=True, help=about, metavar="", show_default=False)
    return [
        inspect.Parameter("help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, info])
    ]


def _unwrapped(text: str) -> str:
    """A docstring with one line per paragraph, because typer keeps line breaks and terminals have any width."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in inspect.cleandoc(text).split("\n\n"))


def _typed(command: ModuleType) -> Callable[..., None]:
    """Convert a command to the function that typer takes. It turns Ctrl-C into a message and an exit code."""

    def called(**given: Any) -> None:
        given.pop("help_all", None)
        try:
            code = command.command(**given)
        except KeyboardInterrupt:
            code = failed(getattr(command, "STOPPED", "stopped; nothing was saved"), 130)
        if code:
            raise typer.Exit(code)

    parameters = [*map(_declared, command.OPTIONS), *_help_all(command.OPTIONS)]
    called.__doc__ = _unwrapped(command.command.__doc__ or "")
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
    """The first line of a command's docstring, and its first example."""
    about = (inspect.getdoc(command.command) or "").partition("\n")[0]
    return f"{about}\n[dim]{examples(command)[0]}[/]"


for _group, _commands in GROUPS.items():
    for _command in _commands:
        app.command(
            _command.NAME,
            cls=_Command,
            short_help=_in_short(_command),
            epilog=_command.EXAMPLES,
            rich_help_panel=_group,
        )(_typed(_command))


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
    """Run a command and return its exit code."""
    return failures.answered(lambda: _run(arguments))


# Typer's messages about values, and what users read instead.
_WORDS = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "it must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "it must be a number",
}


# Commands that do not exist although people try them, and the commands that do what they want.
_ELSEWHERE = {"explain": "unitless inspect MODEL --explain '{\"age\": 31}'", "score": "unitless evaluate MODEL DATA"}


def _plain(message: str) -> str:
    for theirs, ours in _WORDS.items():
        message = message.replace(theirs, ours)
    return message


def _nearest(context: Any, option: str) -> str:
    """A question about the options that someone may have meant; empty if none is near."""
    name = getattr(getattr(context, "command", None), "name", None)
    flags = [one for command in COMMANDS if name == command.NAME for one in command.OPTIONS if not one.argument]
    word = option.lstrip("-").replace("_", "-").removeprefix("no-")
    words = {one.written.removeprefix("--").removeprefix("no-"): one for one in flags}
    found = [one for one in flags if word in one.also]
    found = found or [words[near] for near in difflib.get_close_matches(word, words, 3, 0.7)]
    found = found or [one for near, one in words.items() if set(word.split("-")) <= set(near.split("-"))]
    if not found or not word:
        return ""
    return f". Did you mean {' or '.join(f'{one.written}/{one.off}' if one.off else one.written for one in found[:3])}?"


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
        usage = getattr(error, "format_message", None)  # errors of typer about the command line have it
        if usage is None:
            raise
        if not usage():  # without arguments, typer has printed the help
            return 0
        context = getattr(error, "ctx", None)
        hint = f"\nTry: {context.command_path} --help" if context is not None else ""
        option = getattr(error, "option_name", None)
        near = "" if option is None else _nearest(context, option)
        message = _plain(usage()) if option is None else f"No such option: {option}{near}"
        if not near and re.search(r"No such option: (--\w+_\w|-[dfiqpl]\b)", usage()):
            hint = f"\nVowpal Wabbit's options have other names here: docs/reference/vowpal-wabbit-options.md{hint}"
        for name, command in _ELSEWHERE.items():
            if f"No such command '{name}'" in usage():
                message, hint = f"No such command '{name}'.", f"\nTry: {command}"
        return failed(f"{message}{hint}", 2)
    return code if isinstance(code, int) else 0

"""Write docs/commands.md: every command of the command line with its arguments and options, from the code itself.

Run it after changing a command: `python tools/commands_page.py`. A test fails if the page is out of date.

It reads the signatures of the commands, not the objects that typer makes of them, which change with its versions.
"""

from __future__ import annotations

import inspect
import pathlib
import typing
from collections.abc import Iterator
from typing import Any

from typer.models import ArgumentInfo, CommandInfo, OptionInfo

from unitless.cli.app import app

PAGE = pathlib.Path(__file__).parent.parent / "docs" / "commands.md"
INTRODUCTION = """\
# Commands

Every command with all of its options, as `unitless COMMAND --help` gives them; [the command line](command-line.md)
shows them at work. `unitless --version` prints the version. This page is written by `tools/commands_page.py` from the
code.
"""


def page() -> str:
    """The text of the page."""
    return "\n".join([INTRODUCTION, *("\n".join(_command(one)) for one in app.registered_commands)])


def _command(command: CommandInfo) -> Iterator[str]:
    assert command.callback is not None
    hints = typing.get_type_hints(command.callback, include_extras=True)
    arguments: list[tuple[str, str]] = []
    panels: dict[str, list[tuple[str, str]]] = {}
    usage = [f"unitless {command.name}"]
    for name, parameter in inspect.signature(command.callback).parameters.items():
        kind, info = typing.get_args(hints[name])[:2]
        help = _help(info.help, parameter.default)
        if isinstance(info, ArgumentInfo):
            metavar = info.metavar or name.upper()
            usage.append(metavar if parameter.default is inspect.Parameter.empty else f"[{metavar}]")
            arguments.append((f"`{metavar}`", help + _choices(kind)))
        elif isinstance(info, OptionInfo):
            names = [
                info.default,
                *(info.param_decls or ()),
            ]  # typer stores the first name as the default
            flags = ", ".join(f"`{flag}`" for flag in names if isinstance(flag, str))
            value = "" if kind is bool else f" {_value(kind)}"
            panels.setdefault(info.rich_help_panel or "Options", []).append((flags + value, help + _choices(kind)))
    yield from (f"## {command.name}", "", "    " + " ".join([*usage, "[OPTIONS]"]), "")
    yield from (inspect.getdoc(command.callback) or "", "")
    if arguments:
        yield from _table("Arguments", arguments)
    for panel, options in panels.items():
        yield from _table(panel, options)
    examples = [line for line in (command.epilog or "").splitlines() if line and not line.startswith("[bold]")]
    if examples:
        yield from ("Examples:", "", *(f"    {line}" for line in examples), "")


def _value(kind: Any) -> str:
    """The kind of value that an option takes: NUMBER or TEXT."""
    kinds = typing.get_args(kind) or (kind,)
    return next((word for type_, word in ((int, "NUMBER"), (float, "NUMBER")) if type_ in kinds), "TEXT")


def _choices(kind: Any) -> str:
    if typing.get_origin(kind) is not typing.Literal:
        return ""
    return " One of " + ", ".join(f"`{value}`" for value in typing.get_args(kind)) + "."


def _help(text: str | None, default: Any) -> str:
    shown = isinstance(default, str | int | float) and default is not False
    return (text or "") + (f" Default: {default}." if shown else "")


def _table(title: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    yield from (f"| {title} | |", "|---|---|")
    for flags, text in rows:
        yield f"| {flags} | {text.replace('|', chr(92) + '|').replace('*', chr(92) + '*')} |"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

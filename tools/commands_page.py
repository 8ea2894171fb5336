"""Write docs/reference/command-line.md: every command with its arguments and options, from the code itself.

Run it after changing a command: `python tools/commands_page.py`. A test fails if the page is out of date.

It reads the records of the commands' options, because what typer prints changes with its versions.
"""

from __future__ import annotations

import inspect
import pathlib
import typing
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from unitless.cli.commands import GROUPS, examples

PAGE = pathlib.Path(__file__).parent.parent / "docs" / "reference" / "command-line.md"
INTRODUCTION = """\
# Command line

Every command with all of its options. `unitless COMMAND --help` prints the most used ones, and `--help-all` all of
them; [the command line](../get-started/command-line.md) shows them at work. `unitless --version` prints the version,
and `unitless --install-completion` lets the shell complete commands, options and names of files. This page is written
by `tools/commands_page.py` from the code.
"""


def page() -> str:
    """The text of the page."""
    commands = [command for group in GROUPS.values() for command in group]
    return "\n".join([INTRODUCTION, *_groups(), *("\n".join(_command(one)) for one in commands)])


def _groups() -> Iterator[str]:
    yield from ("| | | |", "|---|---|---|")
    for group, commands in GROUPS.items():
        for number, command in enumerate(commands):
            about = (inspect.getdoc(command.command) or "").partition("\n")[0]
            yield f"| {group if number == 0 else ''} | [`{command.NAME}`](#{command.NAME}) | {about} |"
    yield ""


def _command(command: ModuleType) -> Iterator[str]:
    arguments: list[tuple[str, str]] = []
    panels: dict[str, list[tuple[str, str]]] = {}
    usage = [f"unitless {command.NAME}"]
    for option in command.OPTIONS:
        help = option.text + _choices(option.kind)
        if option.argument:
            metavar = option.metavar or option.name.upper()
            several = "..." if option.many else ""
            usage.append(f"{metavar}{several}" if option.required else f"[{metavar}]")
            arguments.append((f"`{metavar}`", help))
        else:
            flags = ", ".join(f"`{name}`" for name in option.names)
            panels.setdefault(option.panel or "Options", []).append((f"{flags} {option.value_name}".strip(), help))
    yield from (f"## {command.NAME}", "", "    " + " ".join([*usage, "[OPTIONS]"]), "")
    yield from (inspect.getdoc(command.command) or "", "")
    if arguments:
        yield from _table("Arguments", arguments)
    for panel, options in panels.items():
        yield from _table(panel, options)
    yield from ("Examples:", "", *(f"    {line}" for line in examples(command)), "")


def _choices(kind: Any) -> str:
    if typing.get_origin(kind) is not typing.Literal:
        return ""
    return " One of " + ", ".join(f"`{value}`" for value in typing.get_args(kind)) + "."


def _table(title: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    yield from (f"| {title} | |", "|---|---|")
    for flags, text in rows:
        yield f"| {_escaped(flags)} | {_escaped(text)} |"
    yield ""


def _escaped(cell: str) -> str:
    return cell.replace("|", r"\|").replace("*", r"\*")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

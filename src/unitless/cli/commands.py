"""All commands, in groups. A command is a module with a NAME, its OPTIONS, EXAMPLES and a function `command`."""

from __future__ import annotations

from types import ModuleType

from . import bandit, compare, convert, demo, evaluate, inspect, log, merge, paper, predict, serve, sweep, train
from .options import Flag

GROUPS: dict[str, tuple[ModuleType, ...]] = {
    "Learn": (train, compare, sweep),
    "Use a model": (predict, evaluate, serve, log),
    "Choose actions": (bandit,),
    "Understand a model": (inspect,),
    "Models and data": (merge, convert),
    "Try it": (demo, paper),
}
COMMANDS: tuple[ModuleType, ...] = tuple(command for group in GROUPS.values() for command in group)


def examples(command: ModuleType) -> list[str]:
    """The examples of a command, without their heading."""
    return [line for line in command.EXAMPLES.splitlines() if line and not line.startswith("[bold]")]


def by_library_name() -> dict[str, Flag]:
    """Every option of every command, by the library's name for it."""
    options = [option for command in COMMANDS for option in command.OPTIONS if not option.argument]
    return {option.library_name: option for option in reversed(options)}

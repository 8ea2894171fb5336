"""All commands. Each is a module with its NAME, its OPTIONS, its EXAMPLES and what it does, `command`."""

from __future__ import annotations

from types import ModuleType

from . import convert, demo, evaluate, inspect, merge, paper, predict, score, sweep, train
from .options import Flag

COMMANDS: tuple[ModuleType, ...] = (train, predict, score, evaluate, sweep, inspect, merge, convert, paper, demo)


def by_library_name() -> dict[str, Flag]:
    """Every option of every command by the library's name for it."""
    options = [option for command in COMMANDS for option in command.OPTIONS if not option.argument]
    return {option.library_name: option for option in reversed(options)}

"""The help of the command line: groups, examples, colors, completion, and names that mean the same everywhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from types import ModuleType
from typing import Any

import pytest

from unitless.cli import main
from unitless.cli.commands import COMMANDS, GROUPS, examples
from unitless.cli.options import Flag

OPTIONS = [(command.NAME, option) for command in COMMANDS for option in command.OPTIONS if not option.argument]


def output(*words: str, **environment: str) -> str:
    known = {"PATH": os.environ["PATH"], "PYTHONPATH": ":".join(sys.path), "COLUMNS": "160"}
    script = "import sys; sys.argv[0] = 'unitless'; from unitless.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", script, *words]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True, env={**known, **environment})
    return done.stdout.decode()


def test_help_shows_commands_in_groups_each_with_an_example() -> None:
    shown = output("--help")
    at = -1
    for group, commands in GROUPS.items():
        assert (at := shown.find(f"─ {group} ─", at + 1)) > 0
        for command in commands:
            assert (at := shown.find(f"│ {command.NAME} ", at)) > 0
            assert (at := shown.find(examples(command)[0], at)) > 0


def test_colors_can_be_switched_off() -> None:
    color = re.compile(r"\x1b\[(?:[0-9]+;)*[349][0-7][;m]")
    assert color.search(output("train", "--help", FORCE_COLOR="1", TERM="xterm-256color"))
    assert not color.search(output("train", "--help", FORCE_COLOR="1", TERM="xterm-256color", NO_COLOR="1"))
    assert "\x1b" not in output("train", "--help")


@pytest.mark.parametrize(
    ("words", "found"),
    [("unitless pre", ["predict"]), ("unitless train --no-b", ["--no-bias"]), ("unitless train pri", [])],
)
def test_completion_covers_commands_and_options_but_not_file_names(words: str, found: list[str]) -> None:
    asked = {"_UNITLESS_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert output(**asked).split() == found
    assert "complete -o default -F" in output(_UNITLESS_COMPLETE="source_bash")  # which completes file names


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.NAME)
def test_help_shows_at_most_30_options_and_help_all_shows_every_one(command: ModuleType) -> None:
    options = [option for option in command.OPTIONS if not option.argument]
    written, rare = {one.written for one in options}, {one.written for one in options if one.advanced}
    listed = re.compile(r"^│ [* ]* *(--[a-z0-9-]+)", re.MULTILINE)
    shown = set(listed.findall(output(command.NAME, "--help")))
    assert shown == (written - rare) | {"--help"} | ({"--help-all"} if rare else set())
    assert len(shown) <= 30
    if rare:
        assert set(listed.findall(output(command.NAME, "--help-all"))) == written | {"--help", "--help-all"}


def test_the_help_of_every_option_ends_with_its_default() -> None:
    assert [(name, one.written) for name, one in OPTIONS if not one.required and "Default: " not in one.text] == []


# A server takes several models, and a replica reads a folder; in other commands, these options concern one model or
# file.
SETTINGS_OF_A_SERVER = {("serve", "--model"), ("serve", "--replica-of")}


def test_an_option_is_written_alike_in_every_command() -> None:
    ways: dict[str, dict[Any, list[str]]] = defaultdict(lambda: defaultdict(list))
    for command, option in OPTIONS:
        for name in option.names:
            if (command, name) not in SETTINGS_OF_A_SERVER:
                ways[name][_way(option)].append(command)
    assert {name: dict(found) for name, found in ways.items() if len(found) > 1} == {}


def _way(option: Flag) -> tuple[Any, ...]:
    """The form of an option: all its names, whether it is a switch, whether it can be repeated."""
    return (*option.names, option.kind is bool, option.many)


def test_an_option_of_the_library_has_one_name() -> None:
    names: dict[str, set[str]] = defaultdict(set)
    for _, option in OPTIONS:
        names[option.library_name].add(option.written)
    assert {name: written for name, written in names.items() if len(written) > 1} == {}


def test_every_command_has_examples_of_itself_which_can_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        known = {name for option in command.OPTIONS for name in option.names} | {"--help"}
        for example in examples(command):
            assert f"unitless {command.NAME} " in example
            assert set(re.findall(r"(?<= )--[a-z-]+", example)) <= known
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("unitless ")

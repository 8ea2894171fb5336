"""The help of the command line: groups, examples, colours, completion, and names that mean the same everywhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
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


def test_colours_can_be_switched_off() -> None:
    colour = re.compile(r"\x1b\[(?:[0-9]+;)*[349][0-7][;m]")
    assert colour.search(output("train", "--help", FORCE_COLOR="1", TERM="xterm-256color"))
    assert not colour.search(output("train", "--help", FORCE_COLOR="1", TERM="xterm-256color", NO_COLOR="1"))
    assert "\x1b" not in output("train", "--help")


@pytest.mark.parametrize(
    ("words", "found"),
    [("unitless pre", ["predict"]), ("unitless train --no-b", ["--no-bias"]), ("unitless train pri", [])],
)
def test_the_shell_completes_commands_and_options_and_leaves_files_to_itself(words: str, found: list[str]) -> None:
    asked = {"_UNITLESS_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert output(**asked).split() == found
    assert "complete -o default -F" in output(_UNITLESS_COMPLETE="source_bash")  # which completes names of files


# A server has several models, and follows a folder; the same words elsewhere are about one model, and one file.
SETTINGS_OF_A_SERVER = {("serve", "--model"), ("serve", "--replica-of")}


def test_an_option_is_written_alike_in_every_command() -> None:
    ways: dict[str, dict[Any, list[str]]] = defaultdict(lambda: defaultdict(list))
    for command, option in OPTIONS:
        for name in option.names:
            if (command, name) not in SETTINGS_OF_A_SERVER:
                ways[name][_way(option)].append(command)
    assert {name: dict(found) for name, found in ways.items() if len(found) > 1} == {}


def _way(option: Flag) -> tuple[Any, ...]:
    """How an option is given: all its names; is it a switch; can it be given several times."""
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

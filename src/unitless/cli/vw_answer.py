"""What to say to a command that is written with Vowpal Wabbit's options: the same in our words."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .. import rules
from .commands import COMMANDS
from .options import Flag
from .vw_options import BY_NAME, VwOption

_LEARNING = ("train", "sweep", "evaluate")
_PREDICTING = ("predict", "score")
_TEST = ("-t", "--testonly")
_START = ("-i", "--initial_regressor")
_DATA = ("-d", "--data")
_PRODUCTS = "--interactions"


@dataclass
class _Given:
    """A word of the command, or two: an option of theirs, one of ours, or (neither) data."""

    words: list[str]
    theirs: VwOption | None = None
    ours: Flag | None = None

    @property
    def name(self) -> str:
        """The option as it was written."""
        return self.words[0]

    @property
    def value(self) -> str:
        """Its value, or the data."""
        return self.words[-1]


class _Command:
    """The command, as far as it can be said in our words."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.data: list[str] = []
        self.model: str | None = None
        self.left_out: list[str] = []
        self.impossible = False
        self._taken = _own(name)
        self._options: dict[str, list[str]] = {}

    def add(self, words: list[str]) -> bool:
        """Options of ours with their values; False if the command does not take them."""
        if words[0] not in self._taken:
            return False
        for word in words:
            if word in self._taken:
                values = self._options.setdefault(word, [])
            else:
                values.append(word)
        return True

    def __str__(self) -> str:
        before = [self.model or "MODEL"] if self.name in _PREDICTING else []
        words = ["unitless", self.name, *before, *(self.data or ["DATA"])]
        for name, values in self._options.items():
            flag = self._taken[name]
            if flag.kind is bool:
                words.append(name)
            elif name == _PRODUCTS:
                words += [name, "2" if "2" in values else ",".join(values)]  # all pairs are those listed, too
            else:
                words += [name, ",".join(values) if flag.many else values[-1]]
        return " ".join(map(shlex.quote, words))


def answer(words: Sequence[str]) -> str | None:
    """What to say; None if no option is Vowpal Wabbit's."""
    names = [command.NAME for command in COMMANDS]
    named = bool(words) and words[0] in (*names, "vw")  # the last one out of habit
    name = words[0] if named and words[0] != "vw" else "train"
    if name not in (*_LEARNING, *_PREDICTING):
        return None
    own = _own(name)
    given = list(_read(list(words[1:] if named else words), own))
    theirs = [one for one in given if one.theirs is not None]
    if not theirs or not any(_is_certain(one, own) for one in theirs):
        return None
    lines = []
    command = _composed(name, given)
    width = max(len(" ".join(one.words)) for one in theirs)
    for one in theirs:
        lines.append(f"  {' '.join(one.words):{width}}  {_explained(one, command.name in _PREDICTING)}")
    if command.impossible:
        end = "There is no command here that does this."
    elif command.left_out:
        end = f"The command without {', '.join(command.left_out)}: {command}"
    else:
        end = f"The command: {command}"
    return "\n".join(["these are options of Vowpal Wabbit; here they are:", *lines, end])


def _read(words: list[str], own: dict[str, Flag]) -> Iterator[_Given]:
    """The words, each with what it is. What is meant by -q, -t and -p is seen by what follows."""
    at = 0
    while at < len(words):
        word = words[at]
        following = words[at + 1] if at + 1 < len(words) else ""
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if not word.startswith("-") or word == "-":
            yield _Given([word])
            at += 1
            continue
        if name not in BY_NAME and name not in own and not name.startswith("--"):  # as in -l0.5
            name, equals, value = word[:2], "=", word[2:]
        theirs, ours = BY_NAME.get(name), own.get(name)
        if theirs is not None and (ours is None or _means_theirs(name, value if equals else following)):
            if equals:
                yield _Given([name, value], theirs)
            elif theirs.value and following and not (following.startswith("-") and not _is_number(following)):
                yield _Given([name, following], theirs)
                at += 1
            else:
                yield _Given([name], theirs)
        elif ours is not None and equals:
            yield _Given([name, value], ours=ours)
        elif ours is not None and ours.kind is not bool:
            yield _Given([name, following], ours=ours)
            at += 1
        else:
            yield _Given([word], ours=ours)
        at += 1


def _means_theirs(name: str, following: str) -> bool:
    """Whether an option that both have is meant as Vowpal Wabbit has it."""
    if name == "-q":  # ours is a switch, theirs has two letters
        return len(following) == 2 and not following.startswith("-") and not os.path.exists(following)
    if name == "-t":  # theirs is a switch, ours names a column
        return not following or following.startswith("-") or os.path.exists(following)
    return name == "-p" and bool(following) and not following.startswith("-")


def _is_certain(one: _Given, own: dict[str, Flag]) -> bool:
    """Whether nothing else can be meant. -p and -t may also be ours, with a mistake in what follows."""
    return one.name not in own or one.name == "-q"


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _explained(one: _Given, predicting: bool) -> str:
    """What to write for an option of theirs."""
    option = one.theirs
    assert option is not None
    if one.name in _START and predicting:
        return f"the model stands before the data; {option.note}"
    words = option.words(one.value)
    if words is None and not (option.missing or option.other):
        return "not available with this value" + (f"; {option.note}" if option.note else "")
    return "; ".join(filter(None, [_quoted(words or ""), "" if option.note == "the same" else option.note]))


def _quoted(words: str) -> str:
    return " ".join(map(shlex.quote, words.split()))


def _composed(name: str, given: list[_Given]) -> _Command:
    """The whole command in our words."""
    tested = any(one.theirs is not None and one.name in _TEST for one in given)
    command = _Command("predict" if tested and name in _LEARNING else name)
    if rule := _rule({one.name for one in given if one.theirs is not None}):
        command.add(["--rule", rule])
    for one in given:
        option = one.theirs
        if option is None:
            if one.ours is not None:
                command.add(one.words)
            else:
                command.data.append(one.value)
        elif one.name in _DATA:
            command.data.append(one.value)
        elif one.name in _START and command.name in _PREDICTING:
            command.model = one.value
        else:
            command.impossible |= option.other
            words = option.words(one.value)
            settled = command.name in _PREDICTING or (words is not None and option.value not in ("FILE", "MODEL"))
            if words is None or (words and not command.add(words.split(" ")) and not settled):
                command.left_out.append(" ".join(one.words))
    if command.model is None and name in _PREDICTING and command.data:
        command.model = command.data.pop(0)
    return command


def _rule(names: set[str]) -> str | None:
    """The rule that these options mean together, if it is not the default."""
    if not names & {"--adaptive", "--normalized", "--invariant"}:
        return None
    return rules.like(unit_free="--normalized" in names, adaptive="--adaptive" in names).name


def _own(name: str) -> dict[str, Flag]:
    """The options that a command of ours has, by all ways to write them."""
    flags = next(command for command in COMMANDS if name == command.NAME).OPTIONS
    return {written: flag for flag in flags if not flag.argument for written in flag.names}

"""The options of the commands, each declared once.

A `Flag` carries every fact about an option. Other code reads it: app.py for what `unitless COMMAND --help` prints and
accepts, failures.py for the way in which messages write options, arguments.py for what the library is given, and
tools/commands_page.py for the reference page. The options for reading data and for a cluster are made from the
library's own records. An option that only one command has is declared in the file of that command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ..data import formats
from ..data.read_options import Reading
from ..errors import OptionError
from ..losses import DEFAULTS, names
from ..options import USUAL_LEVEL, Options
from ..presentation import shown
from ..training.cluster import Cluster

_LOSSES = "; ".join(
    f"{shown.listed(names(task=task), written=str)} for {what}"
    for task, what in (("regression", "numbers"), ("binary", "two classes"), ("classes", "several classes"))
)

READING = "How the data is read"
LEARNING = "What is learned"
PARTS = "Where it runs"
PREDICTING = "How it predicts"
OUTPUT = "Output"


@dataclass(frozen=True)
class Flag:
    """An option, or an argument, of a command.

    Args:
        name: the parameter of the command's function.
        help: what it does and which values it takes. "Default: X." is added from `default`; where that says too little,
            the help states the default itself.
        kind: str, int, float, bool (a switch), or a Literal with the values that are allowed.
        default: the value if the option is not given; None lets the library decide.
        panel: the heading under which the help shows it.
        short: a single letter for it, such as "-t".
        flag: how it is written; empty for "--" and the name.
        off: the switch that turns it off, such as "--no-shuffle", where it is on by default.
        many: whether it can be given several times, and with commas.
        least: the smallest number that is allowed.
        metavar: the word for its value in the help; empty for one that follows from `kind`.
        argument: whether it is given by its position instead of by its name.
        required: whether it has to be given.
        advanced: whether only --help-all shows it.
        library: the library's name for it; empty if it is the same.
        means: turns the given value into the library's; None if they are the same.
        also: other words for it, which people may try as an option; then the message suggests this one.
    """

    name: str
    help: str
    kind: Any = str
    default: Any = None
    panel: str = ""
    short: str = ""
    flag: str = ""
    off: str = ""
    many: bool = False
    least: int | None = None
    metavar: str = ""
    argument: bool = False
    required: bool = False
    advanced: bool = False
    library: str = ""
    means: Callable[[Any], Any] | None = None
    also: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The help with the default at its end."""
        if self.required or "Default:" in self.help or (self.default is None and self.kind is not bool):
            return self.help
        default = ("on" if self.default else "off") if self.kind is bool else self.default
        default = f"{default:g}" if isinstance(default, float) else default
        return f"{self.help} Default: {default}."

    @property
    def value_name(self) -> str:
        """The word for its value in the help; empty for a switch."""
        return self.metavar or {bool: "", int: "NUMBER", float: "NUMBER"}.get(self.kind, "TEXT")

    @property
    def written(self) -> str:
        """How it is written, such as "--on-error"."""
        return self.flag or "--" + self.name.replace("_", "-")

    @property
    def names(self) -> list[str]:
        """Every way to write it, such as "--target" and "-t"."""
        return [self.written, *([self.short] if self.short else []), *([self.off] if self.off else [])]

    @property
    def library_name(self) -> str:
        """The library's name for it."""
        return self.library or self.name

    def value(self, given: Any) -> Any:
        """Convert a given value to the one that the library takes."""
        return given if self.means is None else self.means(given)


def listed(values: list[str] | None) -> list[str]:
    """Names that were given in several options, or in one with commas between them, as one list."""
    return [name for value in values or () for name in value.split(",") if name]


def number_or(word: str, option: str, kind: Callable[[str], Any], what: str) -> Callable[[str | None], Any]:
    """Make a function that reads the value of an option: a number or a certain word.

    Args:
        word: the word, such as "auto".
        option: the library's name of the option.
        kind: float or int.
        what: what the number is, for the message about other values.
    """

    def read(value: str | None) -> Any:
        if value is None or value == word:
            return value
        try:
            return kind(value)
        except ValueError:
            raise OptionError(f"is {value!r}; it must be {what} or {word}", option=option) from None

    return read


rate = number_or("auto", "learning_rate", float, "a number")


def tab(value: str | None) -> str | None:
    """A delimiter, where "tab" and "\\t" stand for a tab."""
    return {"tab": "\t", "\\t": "\t"}.get(value or "", value)


def interactions(value: str | None) -> Any:
    """Read the value of --interactions: all pairs, ordered, or the pairs that it lists."""
    if value is None or value == "ordered":
        return value
    if value in ("2", "::"):
        return 2
    found = [_pair(pair) for pair in value.split(",")]
    if None in found:
        raise OptionError(
            f"is {value!r}; it must be 2, ordered, pairs such as age*income,job=**city=*, or the first letters of two "
            "namespaces of VW text such as ab",
            option="interactions",
        )
    return found


def _pair(written: str) -> tuple[str, str] | None:
    """Read one pair of features, or of groups of features; None if the text is not a pair."""
    if re.fullmatch(r"[^*\s^]{2}", written):  # Vowpal Wabbit's notation, in which a colon stands for all namespaces
        left, right = ("*" if letter == ":" else f"{letter}*^*" for letter in written)
        return left, right
    pair = re.fullmatch(r"([^*]+\*?)\*([^*]+\*?)", written)
    return None if pair is None else (pair[1], pair[2])


DATA = Flag(
    "data",
    f"Files ({formats.titles()}; compressed or not), globs, a folder, a zip archive, or - for the standard input.",
    many=True,
    metavar="DATA",
    argument=True,
    required=True,
)
TARGET = Flag(
    "target",
    "The column to predict. Default: none; VW text and libsvm contain the labels.",
    short="-t",
    panel=READING,
    metavar="COLUMN",
    also=("label", "y"),
)


def flags_of(record: type, panel: str, changed: Mapping[str, Mapping[str, Any]]) -> dict[str, Flag]:
    """Make an option for each field of a record of options; the result has them by name.

    The help of an option is the text about the field in the record's docstring, under "Args:". Its type is the field's.

    Args:
        record: a dataclass, such as `Reading`.
        panel: the heading under which the help shows the options.
        changed: fields of the `Flag` that are different on the command line, by the name of the option.
    """
    found = re.findall(r"^ {8}(\w+): (.*(?:\n {12}.*)*)", record.__doc__ or "", re.MULTILINE)
    about = {
        name: " ".join(text.replace("`", "").replace("Default: False", "Default: off").split()) for name, text in found
    }
    flags = {}
    for one in fields(record):
        declared = str(one.type)  # the annotation, which is text
        kinds: dict[str, Any] = {"bool": bool, "int": int, "float": float}
        kind = kinds.get(declared.removesuffix(" | None"), str)
        many = "Iterable" in declared
        text = about.get(one.name, "")
        flag = Flag(
            one.name,
            text[:1].upper() + text[1:],
            kind,
            False if declared == "bool" else None,
            panel,
            many=many,
            means=listed if many else None,
        )
        flags[one.name] = replace(flag, **changed.get(one.name, {}))
    return flags


_ADVANCED = {"advanced": True}
# How data is read, as `Reading` declares it.
_READ = flags_of(
    Reading,
    READING,
    {
        "na": {"means": None, **_ADVANCED},  # a value may contain commas
        "delimiter": {"means": tab, **_ADVANCED},
        "header": {"off": "--no-header", **_ADVANCED},
        "tail": {"also": ("follow",)},
        **dict.fromkeys(
            ("offset", "words", "ngrams", "numbers", "dates", "decimal", "thousands", "encoding", "zero_based"),
            _ADVANCED,
        ),
    },
)
TAIL, ON_ERROR, IGNORE, ONLY = _READ["tail"], _READ["on_error"], _READ["ignore"], _READ["only"]
TEXT, WORDS, NGRAMS, DATES = _READ["text"], _READ["words"], _READ["ngrams"], _READ["dates"]
_OF_FILES = ("format", "delimiter", "header", "encoding", "zero_based")
# How files are read: all commands that read data have these.
FILES = tuple(_READ[name] for name in _OF_FILES)
# How columns and files are read: train, compare and sweep have these.
COLUMNS = (*(flag for name, flag in _READ.items() if name not in (*_OF_FILES, "tail", "filesystem")), *FILES)
WEIGHT = Flag(
    "weight", "The column of sample weights. Default: none; every row counts once.", panel=READING, metavar="COLUMN"
)
# What predict and evaluate take instead of the training's setting.
MISSING_AS_TRAINED = Flag(
    "missing",
    "What a missing value becomes: absent (the feature is left out) or error. Default: as in training.",
    panel=READING,
)
EXTRAPOLATE = Flag(
    "extrapolate",
    "Predict linearly, without limit, beyond the range of values in the training data.",
    bool,
    False,
    panel=PREDICTING,
)
TASK = Flag(
    "task", "What to predict: regression, binary or classes. Default: inferred from the labels.", panel=LEARNING
)
POSITIVE = Flag(
    "positive",
    "The positive label of a binary task. Default: yes, true or 1, otherwise the larger or later label.",
    panel=LEARNING,
    advanced=True,
)
# The options of learners, as `Options` declares them; None lets the library decide.
_LEARNER = flags_of(
    Options,
    LEARNING,
    {
        "loss": {
            "help": f"The loss to minimize: {_LOSSES}. Default: {DEFAULTS['regression']} for numbers, "
            f"{DEFAULTS['classes']} for classes."
        },
        "learning_rate": {"means": rate, "also": ("lr", "eta", "alpha")},
        "interactions": {
            "help": "Products of features: 2 (all pairs), ordered (all pairs, both ways), pairs such as a*b,c*d, or "
            "the first letters of two namespaces of VW text, such as ab. Default: none.",
            "means": interactions,
            **_ADVANCED,
        },
        "bits": {"short": "-b", **_ADVANCED},
        "sparsity": {"means": number_or("auto", "sparsity", float, "a number"), **_ADVANCED},
        **{
            name: {"default": None, "off": "--no-" + name.replace("_", "-"), **_ADVANCED}
            for name in ("importance_aware", "bias", "falling_scales", "average")
        },
        "center": {"default": None, "off": "--no-center", "also": ("centre",), **_ADVANCED},
        "model_type": {"also": ("shape", "trees", "curves", "linear")},
        "ensemble": {"default": None, "off": "--no-ensemble", "also": ("experts", "members")},
        **dict.fromkeys(
            ("quantile", "schedule", "order", "clip", "l2", "n_trees", "max_leaves", "tree_patience"), _ADVANCED
        ),
    },
)
RULE, LEARNING_RATE, ENSEMBLE = _LEARNER["rule"], _LEARNER["learning_rate"], _LEARNER["ensemble"]
# train and compare have these; sweep compares the rates of linear models
MODEL_TYPE = tuple(_LEARNER[name] for name in ("model_type", "n_trees", "max_leaves", "tree_patience"))
_BY_THEMSELVES = ("rule", "learning_rate", *(flag.name for flag in MODEL_TYPE), "ensemble", "target")
# train, compare and sweep have these; train always learns the labels' unit (target).
MODEL = (TASK, POSITIVE, *(flag for name, flag in _LEARNER.items() if name not in _BY_THEMSELVES))


def rules_flag(of: Iterable[str], usual: Iterable[str]) -> Flag:
    """Declare the option for the update rules that are compared.

    Args:
        of: the rules that can be compared.
        usual: the rules that are compared by default.
    """
    return Flag(
        "rules",
        f"The update rules to compare, separated by commas: {', '.join(of)}. Default: {','.join(usual)}.",
        many=True,
        means=listed,
        panel=LEARNING,
    )


SHUFFLE = Flag(
    "shuffle",
    "Fit the rows in random order (--shuffle), or learn them as a stream, once and in their order (--no-shuffle).",
    bool,
    True,
    off="--no-shuffle",
    panel=LEARNING,
)
SEED = Flag(
    "seed",
    "Random seed for shuffling and the hold-out.",
    int,
    0,
    library="random_state",
    panel=LEARNING,
    also=("random-state",),
)
MEMORY = Flag(
    "memory",
    "The most memory for shuffling, such as 2GB; larger data goes through temporary files. Default: a quarter of the "
    "machine's.",
    panel=LEARNING,
    metavar="SIZE",
    advanced=True,
)
ORDER = (SHUFFLE, SEED, MEMORY)  # train, compare and sweep have these
# How train goes through the data.
PLAN = (
    *ORDER,
    Flag(
        "passes",
        "How often to learn the data: a number, or auto (as long as it is expected to lower the loss by 0.5%, "
        "with curves or trees by 1%). "
        "Default: auto for a fit, 1 for a stream and on a cluster.",
        means=number_or("auto", "passes", int, "a whole number"),
        panel=LEARNING,
        also=("epochs", "iterations", "n-iter", "max-iter"),
    ),
    Flag(
        "holdout",
        "The fraction of rows that are held out, or last (with --no-shuffle: the last tenth). Default: 0.1, at most "
        "20,000 rows, for a fit; 0 for a stream.",
        means=number_or("last", "holdout", float, "a fraction of the rows,"),
        panel=LEARNING,
        also=("test-size", "validation"),
    ),
    Flag(
        "groups",
        "A column of groups, such as customers: all rows of a group are learned, or all are held out. It is not a "
        "feature. Default: no groups.",
        panel=LEARNING,
        metavar="COLUMN",
        also=("group", "group-by"),
    ),
    Flag(
        "learn_holdout",
        "Add the held-out rows to training after the metrics have been computed.",
        bool,
        True,
        off="--no-learn-holdout",
        panel=LEARNING,
        advanced=True,
    ),
)
# Where training runs in parts at the same time, as `Cluster` declares it.
CLUSTER = tuple(
    flags_of(
        Cluster,
        PARTS,
        {
            "backend": {
                "help": "Train in parts at the same time on local (threads), ray, dask or spark. Default: local if "
                "another of these options is given; otherwise the data is not divided."
            },
            "partitions": {"also": ("shards",), **_ADVANCED},
            "sync_rounds": {"also": ("rounds",), **_ADVANCED},
            "address": _ADVANCED,
        },
    ).values()
)


def checkpoint(value: str | None) -> Any:
    """Read the value of --checkpoint: a number of rows, or the name of a file."""
    return int(value) if value is not None and value.isdecimal() else value


CHECKPOINT = Flag(
    "checkpoint",
    "Save the model each time after this number of rows. With --backend: the file that stores each synchronization "
    "round. Default: the model is saved only at the end.",
    means=checkpoint,
    panel=OUTPUT,
    metavar="ROWS|FILE",
)
LEVEL = Flag(
    "level",
    "The level of the prediction intervals (for classes: prediction sets) whose coverage and width are shown.",
    float,
    USUAL_LEVEL,
    panel=OUTPUT,
    advanced=True,
)
JSON = Flag("as_json", "Print the results as JSON, for programs.", bool, False, flag="--json", panel=OUTPUT)
QUIET = Flag("quiet", "Show no progress.", bool, False, short="-q", panel=OUTPUT)
NO_REMARKS = Flag("quiet", "Show no notes.", bool, False, short="-q", panel=OUTPUT)
PLOT = Flag(
    "plot", "Write a picture to this file (.png, .svg or .pdf). Default: no picture.", panel=OUTPUT, metavar="FILE"
)

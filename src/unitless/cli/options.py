"""The options of the commands, each declared once.

A record says all that there is to say about an option. From the records follow what `unitless COMMAND --help` prints
and accepts (app.py), the quick reader of arguments (quick.py), the way in which messages write options (failures.py),
what is handed to the library (arguments.py) and the page of commands (tools/commands_page.py). An option that only one
command has is declared in the file of that command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..data import formats
from ..errors import OptionError
from ..losses import names
from ..options import USUAL_LEVEL

_LOSSES = "; ".join(", ".join(names(task=task)) for task in ("regression", "binary", "classes")) + "."

READING = "How the data is read"
LEARNING = "What is learned"
PARTS = "Where it runs"
OUTPUT = "Output"


@dataclass(frozen=True)
class Flag:
    """An option, or an argument, of a command.

    Args:
        name: how the command's function calls it.
        help: one line for users.
        kind: str, int, float, bool (a switch), or a Literal with the values that are allowed.
        default: if it is not given.
        panel: the heading under which the help shows it.
        short: a single letter for it, such as "-t".
        flag: as it is written; "--" and the name, if it is not given.
        off: how a switch that is on by default is switched off, such as "--no-shuffle".
        many: whether it can be given several times, and with commas.
        least: the smallest number that is allowed.
        metavar: a word for its value, in the help.
        argument: whether it is given by its place instead of by name.
        required: whether it has to be given.
        library: the library's name for it, if that is another one.
        means: what it is for the library: a function of the value that was given, the value itself if there is none.
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
    library: str = ""
    means: Callable[[Any], Any] | None = None

    @property
    def written(self) -> str:
        """As it is written, such as "--on-error"."""
        return self.flag or "--" + self.name.replace("_", "-")

    @property
    def names(self) -> list[str]:
        """All ways to write it."""
        return [self.written, *([self.short] if self.short else []), *([self.off] if self.off else [])]

    @property
    def library_name(self) -> str:
        """The library's name for it."""
        return self.library or self.name

    def value(self, given: Any) -> Any:
        """As the library takes it."""
        return given if self.means is None else self.means(given)


def listed(values: list[str] | None) -> list[str]:
    """Given several times, or separated by commas."""
    return [name for value in values or () for name in value.split(",") if name]


def rate(value: str | None) -> Any:
    """A learning rate as the library takes it."""
    if value is None or value == "auto":
        return value
    try:
        return float(value)
    except ValueError:
        raise OptionError(f"is {value!r}; it must be a number or auto", option="learning_rate") from None


def penalty(value: str | None) -> Any:
    """A sparsity as the library takes it."""
    if value is None or value == "auto":
        return value
    try:
        return float(value)
    except ValueError:
        raise OptionError(f"is {value!r}; it must be a number or auto", option="sparsity") from None


def tab(value: str | None) -> str | None:
    """A tab by its name."""
    return {"tab": "\t", "\\t": "\t"}.get(value or "", value)


def interactions(value: str | None) -> Any:
    """Interactions as the library takes them."""
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
    """Two features, or groups of them; None if that is not a pair."""
    if re.fullmatch(r"[^*\s^]{2}", written):  # as Vowpal Wabbit has it; a colon stands for all namespaces
        left, right = ("*" if letter == ":" else f"{letter}*^*" for letter in written)
        return left, right
    pair = re.fullmatch(r"([^*]+\*?)\*([^*]+\*?)", written)
    return None if pair is None else (pair[1], pair[2])


def _left_out(asked: bool) -> bool | None:
    return False if asked else None  # the library decides


DATA = Flag(
    "data",
    f"Files ({formats.titles()}; compressed or not), globs, a folder, a zip archive, or - for the standard input.",
    many=True,
    metavar="DATA...",
    argument=True,
    required=True,
)
TARGET = Flag("target", "The column to predict.", short="-t", panel=READING)
# How files are read: all commands that read data have these.
FILES = (
    Flag("format", f"{formats.one_of(formats.names())}; detected if not given.", panel=READING),
    Flag("delimiter", "The character between the columns of CSV; detected if not given.", means=tab, panel=READING),
    Flag(
        "header",
        "Whether the first row of CSV has names; detected if not given. Without, columns are called 1, 2, 3, ...",
        bool,
        off="--no-header",
        panel=READING,
    ),
    Flag("encoding", "The encoding of text, for example latin-1; UTF-8 if not given.", panel=READING),
    Flag("zero_based", "The features of the libsvm file are numbered from 0.", bool, False, panel=READING),
)
TAIL = Flag(
    "tail",
    "Read a text file that grows, as tail -F does, until Ctrl-C; its rows are learned as a stream.",
    bool,
    False,
    panel=READING,
)
WEIGHT = Flag("weight", "A column of sample weights.", panel=READING)
OFFSET = Flag("offset", "A column that is added to the score, such as the logarithm of an exposure.", panel=READING)
IGNORE = Flag(
    "ignore",
    "Columns to leave out, such as 'id,*_at'; namespaces of VW text by name or first letter.",
    many=True,
    means=listed,
    panel=READING,
)
ONLY = Flag(
    "only",
    "Columns to use, or namespaces of VW text; all others are left out.",
    many=True,
    means=listed,
    panel=READING,
)
TEXT = Flag(
    "text",
    "Columns to treat as text though they look like numbers (zip codes).",
    many=True,
    means=listed,
    panel=READING,
)
WORDS = Flag(
    "words",
    "Columns of text whose words are features (comments, titles); detected if not given.",
    many=True,
    means=listed,
    panel=READING,
)
NUMBERS = Flag(
    "numbers",
    "Columns to use as numbers though they look like row counters, or begin with only 0 and 1.",
    many=True,
    means=listed,
    panel=READING,
)
DATES = Flag(
    "dates",
    "What to do with columns of dates: parts (time, month, ...), as if not given; day-first or month-first; or error.",
    panel=READING,
)
MISSING = Flag(
    "missing",
    "What a missing value is: an indicator (a feature of its own, as if not given), an absent feature, or an error.",
    panel=READING,
)
NA = Flag("na", "Further values that mean a missing one, besides NA, null, ?, ...", many=True, panel=READING)
DECIMAL = Flag("decimal", "What stands before fractions, . or ,; detected if not given.", panel=READING)
THOUSANDS = Flag("thousands", "What stands between thousands; detected if not given.", panel=READING)
ON_ERROR = Flag(
    "on_error", "What to do with invalid rows: fail, or skip (and count them).", default="fail", panel=READING
)
# How the columns are read; train, compare and sweep have these, and the column of sample weights.
COLUMNS = (
    *(OFFSET, IGNORE, ONLY, TEXT, WORDS, NUMBERS, DATES, MISSING, NA, DECIMAL, THOUSANDS, ON_ERROR),
    *FILES,
)
TASK = Flag("task", "regression, binary or classes; detected if not given.", panel=LEARNING)
POSITIVE = Flag("positive", "The label that counts as positive in a binary task.", panel=LEARNING)
# What train, evaluate and sweep have in common.
MODEL = (
    TASK,
    POSITIVE,
    Flag("loss", _LOSSES, panel=LEARNING),
    Flag(
        "no_center",
        "Do not subtract the running means from the columns.",
        bool,
        False,
        library="center",
        means=_left_out,
        panel=LEARNING,
    ),
    Flag(
        "no_falling_scales",
        "Do not let the scale of a column fall when its values become far smaller.",
        bool,
        False,
        library="falling_scales",
        means=_left_out,
        panel=LEARNING,
    ),
    Flag(
        "no_bias",
        "Leave out the bias, the feature that is 1 in every row.",
        bool,
        False,
        library="bias",
        means=_left_out,
        panel=LEARNING,
    ),
    Flag(
        "interactions",
        "Products of features: 2 (all pairs), ordered, or a*b,c*d; of namespaces of VW text: ab.",
        means=interactions,
        panel=LEARNING,
    ),
    Flag("bits", "Hash the names of features into 2^BITS places, for bounded memory.", int, short="-b", panel=LEARNING),
    Flag(
        "sparsity",
        "Leave out weights that matter little: auto, or a number without a unit; 1 is a good value. 0 if not given.",
        means=penalty,
        panel=LEARNING,
    ),
    Flag("l2", "Pull weights towards zero: a number without a unit; 0 if not given.", float, panel=LEARNING),
    Flag("quantile", "The quantile to predict with quantile loss; 0.5 if not given.", float, panel=LEARNING),
)


def rules_flag(of: Iterable[str]) -> Flag:
    """The option that says which rules are compared."""
    return Flag(
        "rules", f"The update rules, of {', '.join(of)}; separated by commas.", many=True, means=listed, panel=LEARNING
    )


LEARNING_RATE = Flag(
    "learning_rate",
    "The learning rate: auto, or a number. Default: auto.",
    means=rate,
    panel=LEARNING,
)
# train and compare have it; sweep compares the rates of linear models.
MODEL_TYPE = Flag(
    "model_type",
    "What the model can express: linear; curves (3 to 4 times the time), trees (10 to 20 times), auto (trees unless "
    "the data is wide or sparse), or 'curves only'. Default: auto.",
    panel=LEARNING,
)
ENSEMBLE = Flag(
    "ensemble",
    "Combine several learners: second order for tables, softmax for classes, snag for wide and sparse data. Default: "
    "on, but off where rules are compared or --learning-rate is a number.",
    bool,
    off="--no-ensemble",
    panel=LEARNING,
)


def passes(value: str | None) -> Any:
    """A number of passes as the library takes it."""
    if value is None or value == "auto":
        return value
    try:
        return int(value)
    except ValueError:
        raise OptionError(f"is {value!r}; it must be a whole number or auto", option="passes") from None


def holdout(value: str | None) -> Any:
    """What is held back, as the library takes it."""
    if value is None or value == "last":
        return value
    try:
        return float(value)
    except ValueError:
        raise OptionError(f"is {value!r}; it must be a fraction of the rows, or last", option="holdout") from None


SHUFFLE = Flag(
    "shuffle",
    "Fit the rows in random order, or learn them as a stream.",
    bool,
    True,
    off="--no-shuffle",
    panel=LEARNING,
)
SEED = Flag("seed", "Random seed for shuffling and the hold-out.", int, 0, library="random_state", panel=LEARNING)
MEMORY = Flag(
    "memory", "Most memory for putting rows into random order, such as 2GB; a quarter of the machine's.", panel=LEARNING
)
ORDER = (SHUFFLE, SEED, MEMORY)  # train, evaluate and sweep have these
# The way through the data, for train.
PLAN = (
    *ORDER,
    Flag(
        "passes",
        "How often to go through the data, or auto: until it helps no more. auto if rows are shuffled, else 1.",
        means=passes,
        panel=LEARNING,
    ),
    Flag(
        "holdout",
        "The fraction of rows that are held out; last: the last tenth. Default: 0.1 if rows are shuffled, else 0.",
        means=holdout,
        panel=LEARNING,
    ),
    Flag(
        "learn_holdout",
        "Add the held-out rows to training after the metrics have been computed.",
        bool,
        True,
        off="--no-learn-holdout",
        panel=LEARNING,
    ),
)
# Where training runs in parts at the same time.
CLUSTER = (
    Flag("backend", "Train in parts at the same time: local (threads), ray, dask or spark.", panel=PARTS),
    Flag(
        "partitions",
        "How many parts the rows are divided into; the result depends on it. Default: 64.",
        int,
        panel=PARTS,
    ),
    Flag(
        "sync_rounds",
        "How often in a pass the parts are merged; the result depends on it. Default: 8.",
        int,
        panel=PARTS,
    ),
    Flag("workers", "How many parts are learned at the same time. Default: one for each core.", int, panel=PARTS),
    Flag("address", "The address of a running cluster. Default: one is started on this machine.", panel=PARTS),
)


def checkpoint(value: str | None) -> Any:
    """A number of rows, or a file."""
    return int(value) if value is not None and value.isdecimal() else value


CHECKPOINT = Flag(
    "checkpoint",
    "Save the model each time after this number of rows. With --backend: the file that keeps each round.",
    means=checkpoint,
    panel=OUTPUT,
)
LEVEL = Flag(
    "level",
    "The level of the prediction intervals (for classes: sets) whose coverage and width are shown.",
    float,
    USUAL_LEVEL,
    panel=OUTPUT,
)
JSON = Flag("as_json", "Print the results as JSON, for programs.", bool, False, flag="--json", panel=OUTPUT)
QUIET = Flag("quiet", "Show no progress.", bool, False, short="-q", panel=OUTPUT)
NO_REMARKS = Flag("quiet", "Show no notes.", bool, False, short="-q", panel=OUTPUT)
PLOT = Flag("plot", "Write a picture to this file (.png, .svg or .pdf).", panel=OUTPUT)

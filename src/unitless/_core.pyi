"""The compiled core. Private: `unitless.Learner` is its public face."""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

class Snapshot(TypedDict):
    """Everything that a learner knows. Slots that were never other than zero are left out."""

    t: float
    T: float
    N: float
    examples: int
    label_min: float
    label_max: float
    negative: int
    columns: int | None
    names: list[str] | None
    slots: NDArray[np.uint32]
    scale: NDArray[np.float64]
    v: NDArray[np.float64]
    H: NDArray[np.float64]
    average: NDArray[np.float64]
    average_scale: NDArray[np.float64]
    averaged_t: float
    next_look: int
    kept: str
    suspended_at: float | None
    missed: float
    lane_heads: NDArray[np.uint32]
    lane_rates: NDArray[np.uint32]
    scores: NDArray[np.float64]
    followed: NDArray[np.float64]
    errors: NDArray[np.float64]
    target: NDArray[np.float64]
    products: NDArray[np.uint32]
    center_features: NDArray[np.uint32]
    center_kinds: NDArray[np.uint32]
    center_means: NDArray[np.float64]
    proven_scales: NDArray[np.float64]  # for centered columns
    window_features: NDArray[np.uint32]  # centered columns whose scales may fall (core/encoding/window.hpp)
    windows: NDArray[np.float64]  # nine numbers for each
    form: dict[str, Any]  # "settled": the model type, or None; and arrays of float64
    ensemble: Literal["none", "newton", "snag", "softmax"] | None
    slopes: NDArray[np.float64]  # only in merged models: see merging/means.py

class Remembered:
    """A state of a learner, which can go back to it; it takes less time and memory than a `Snapshot`."""

    def fields(self) -> Snapshot: ...

def kernels() -> list[str]:
    """The instruction sets that this machine can run, slowest first."""

def merged_slots(
    parts: list[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]], merging: dict[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Slots of several models as one's: the scale, H by lane, and v by lane with the averages of v beside it."""

most_second_order: int
"""How many features have a place in second-order learners."""

def inverted(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], bool]:
    """The inverse of a positive definite matrix, and whether it was one: the same bits on all machines."""

def multiplied(matrix: NDArray[np.float64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """A matrix times each of the vectors, [vector][number]."""

def numbered_names(lists: list[list[str]]) -> tuple[list[str], list[NDArray[np.uint32]]]:
    """All names of several lists in the order in which they are first met; and for each list, their places in it."""

def keep_memory() -> None:
    """Keep freed memory for this process: the system clears what is given back each time that it is used again."""

def thread_count() -> int:
    """How many threads may work: UNITLESS_THREADS, or as many as there are cores."""

def work_alone(from_here_on: bool) -> None:
    """Whether models that this thread works at, from here on, are worked at by no other thread."""

def _before_fork() -> None:
    """Wait until no thread is inside a learner, and keep others out."""

def _after_fork() -> None:
    """Let threads into the learners again."""

def row_end(data: bytes, delimiter: str, first: bool) -> int:
    """Where the last whole row of CSV ends, or the first; or 0."""

date_forms: tuple[str, ...]

def written_dates(
    ends: NDArray[np.int64], text: NDArray[np.uint8], form: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """The moments that texts stand for, in microseconds; how far each is ahead of UTC; and whether it is one."""

def written_date(text: str, form: str) -> tuple[int, int] | None:
    """The moment that one text stands for, and how far it is ahead of UTC; None if it is not one."""

def written_numbers(
    ends: NDArray[np.int64], text: NDArray[np.uint8], form: str, marks: list[str]
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """The numbers that texts stand for, and whether each is one (0), missing (1) or something else (2)."""

def row_places(
    data: NDArray[np.uint8], delimiter: str, comment: str, every: int, since: int
) -> tuple[int, int, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """How many rows a text of whole rows has, and by how many numbers they are called; then places among them.

    A place comes after every so many rows, the first one as if `since` of them had come before: offsets, and the rows
    and numbers before each.
    """

def pack_records(columns: list[NDArray[Any]], offsets: list[int], sizes: list[int], out: NDArray[np.uint8]) -> bool:
    """Columns become parts of records, each at its offset, as whole numbers of 1 or 4 bytes if that is its size there.

    Whether all values fit.
    """

def gather_rows(
    pieces: list[NDArray[Any]], piece: NDArray[np.int64], row: NDArray[np.int64], out: NDArray[Any]
) -> None:
    """Rows of several matrices of one type."""

def entry_starts(
    starts: list[NDArray[np.int64]], piece: NDArray[np.int64], row: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Where the entries of rows of several compressed matrices begin when they follow one another."""

def gather_entries(
    starts: list[NDArray[np.int64]],
    entries: list[NDArray[Any]],
    piece: NDArray[np.int64],
    row: NDArray[np.int64],
    out: NDArray[Any],
) -> None:
    """The entries of rows of several compressed matrices."""

def rows_below(key: int, first: int, count: int, highest: int) -> NDArray[np.int64]:
    """Which of so many rows, from the first number on, have hashes up to the highest; from 0."""

def gather_text(
    pieces: list[TextRows], piece: NDArray[np.int64], row: NDArray[np.int64], first: int = 0, next: int = 0
) -> TextRows:
    """Rows of several texts as if they had been read in this order.

    The first one also mentions the indices from `first` to before `next`.
    """

class TableColumns:
    """The columns of a table whose rows come one at a time.

    Each is "number", "flag", "text", "words", "ngrams" or "boolean".
    """

    def __init__(self, names: list[str], kinds: list[str], missing: str, marks: list[str], trim: bool) -> None: ...

class WaitingErrors:
    def __init__(self) -> None: ...
    def add(self, scores: float | NDArray[np.float64], truth: float, weight: float, /) -> bool:
        """Note a row, with one score or one for each class. True if it is time to take all of them."""

    def rows(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Of the rows so far: scores, one row after the other; labels; weights; how many scores each row has."""

    def take(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The same; then there are none."""

    def __len__(self) -> int: ...

class Learner:
    """A learner in the core."""

    def __init__(
        self,
        *,
        rule: str,
        loss: str,
        rates: list[float],
        first_rate: int,
        last_rate: int,
        penalties: list[float],
        across: int,
        selecting: str,
        classes: int,
        open: bool,
        importance_aware: bool,
        bias: bool,
        quantile: float,
        schedule: str,
        order: str,
        clip: str,
        proximal: bool,
        l2: float,
        average: bool,
        model_type: str,
        target: bool,
        center: bool,
        pairs: str,
        listed: list[tuple[list[tuple[str, bool, int]], list[tuple[str, bool, int]]]],
        bits: int | None,
        kernel: str,
    ) -> None: ...
    def learn_one(self, x: Mapping[str, float], y: float, weight: float = 1.0, offset: float = 0.0) -> float:
        """Learn from one mapping of names to numbers; gives the prediction made before the update."""

    def predict_one(self, x: Mapping[str, float], offset: float = 0.0, *, extrapolate: bool = False) -> float:
        """The prediction for one mapping of names to numbers; changes nothing."""

    def _learn_features(self, x: Mapping[str, float], y: float, weight: float = 1.0, offset: float = 0.0) -> float: ...
    def _predict_features(self, x: Mapping[str, float], offset: float = 0.0, extrapolate: bool = False) -> float: ...
    def _learn_one_wide(
        self, x: Mapping[str, float], y: float, weight: float, new_classes: int = 0, offset: float = 0.0
    ) -> NDArray[np.float64]: ...
    def _predict_one_wide(
        self, x: Mapping[str, float], extrapolate: bool, offset: float = 0.0
    ) -> NDArray[np.float64]: ...
    def _learn_noting(self, x: Mapping[str, float], y: float, weight: float, errors: WaitingErrors, /) -> bool: ...
    def _learn_side(
        self, x: Mapping[str, float], y: Any, weight: float, sides: dict[Any, bool], errors: WaitingErrors, /
    ) -> bool: ...
    def _predict_shares(self, x: Mapping[str, float], two: tuple[Any, Any], /) -> dict[Any, float]: ...
    def _learn_class_noting(
        self, x: Mapping[str, float], y: Any, weight: float, numbers: dict[Any, int], errors: WaitingErrors, /
    ) -> bool | None: ...
    def _predict_class_shares(self, x: Mapping[str, float], labels: list[Any], /) -> dict[Any, float]: ...
    def _learn_class(
        self, x: Mapping[str, float], y: Any, weight: float, numbers: dict[Any, int], /
    ) -> NDArray[np.float64] | None: ...
    def _learn_row(
        self, columns: TableColumns, row: Any, y: float, weight: float = 1.0, offset: float = 0.0
    ) -> float | None:
        """Learn from a row of a table; gives the prediction made before the update.

        None if the row has to be read with more care: then nothing has changed.
        """

    def _learn_row_wide(
        self, columns: TableColumns, row: Any, y: float, weight: float = 1.0, new_classes: int = 0
    ) -> NDArray[np.float64] | None: ...
    def _predict_row(
        self, columns: TableColumns, row: Any, extrapolate: bool = False, offset: float = 0.0
    ) -> float | None:
        """The prediction for a row of a table; None if it has to be read with more care."""

    def _predict_row_wide(
        self, columns: TableColumns, row: Any, extrapolate: bool = False
    ) -> NDArray[np.float64] | None: ...
    def _winner_of_row(
        self, columns: TableColumns, row: Any, extrapolate: bool = False, offset: float = 0.0
    ) -> int | None:
        """The place of the class with the largest score."""

    def _word_features(self, column: str, text: str, ngrams: bool) -> list[str]:
        """The names of a text's words in a column of words, known or not; one that words share is there for each."""

    def _access_rows_with(self, access: Any) -> None:
        """Leave the rows of `learn_one` and `predict_one` to an object, which must not hold the learner; None for none.

        It has the methods `learn(x, y, weight, offset)` and `predict(x, offset, extrapolate)`.
        """

    def _learn_named(
        self,
        rows: list[Mapping[str, float]],
        y: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        new_classes: int = 0,
        offset: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]: ...
    def _learn_dense(
        self,
        x: NDArray[Any],
        y: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        new_classes: int = 0,
        offset: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]: ...
    def _predict_dense(
        self, x: NDArray[Any], extrapolate: bool, offset: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]: ...
    def _learn_compressed(
        self,
        values: NDArray[np.float64],
        indices: NDArray[Any],
        row_starts: NDArray[Any],
        columns: int,
        y: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        new_classes: int = 0,
        offset: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]: ...
    def _predict_compressed(
        self,
        values: NDArray[np.float64],
        indices: NDArray[Any],
        row_starts: NDArray[Any],
        columns: int,
        extrapolate: bool,
        offset: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]: ...
    def _learn_table(
        self,
        names: list[str],
        columns: list[Any],
        missing: bool,
        indicators: bool,
        whole: bool,
        y: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        new_classes: int = 0,
        offset: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]: ...
    def _predict_table(
        self,
        names: list[str],
        columns: list[Any],
        missing: bool,
        indicators: bool,
        rows: int,
        extrapolate: bool,
        offset: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]: ...
    def _learn_rows(
        self,
        rows: TextRows,
        y: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        new_classes: int = 0,
        offset: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]: ...
    def _predict_rows(
        self, rows: TextRows, extrapolate: bool, offset: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]: ...
    def _score(
        self,
        p: NDArray[np.float64],
        positive: NDArray[np.bool_],
        weight: NDArray[np.float64] | None,
        sums: NDArray[np.float64],
        bins: NDArray[np.float64],
    ) -> None: ...
    def _loss(
        self,
        which: int,
        p: NDArray[np.float64],
        y: NDArray[np.float64],
        tau: NDArray[np.float64],
    ) -> NDArray[np.float64]: ...
    def _snapshot(self, slots: bool = True) -> Snapshot:
        """All that it knows; without slots, none of the arrays that have an entry for each."""

    def _read_slots(
        self, slots: NDArray[np.uint32], lanes: NDArray[np.uint32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Scale, H and values of some slots: see `merged_slots`."""

    def _load_merged(self, snapshot: Snapshot, parts: list[dict[str, Any]], merging: dict[str, Any]) -> bool:
        """Become what a snapshot without slots says, with slots merged from those of other learners.

        False if one of them has learned since the merge was planned.
        """

    def _restore(self, snapshot: Snapshot | Remembered) -> None: ...
    def _remembered(self) -> Remembered: ...
    @property
    def _keeps_average(self) -> bool: ...
    @_keeps_average.setter
    def _keeps_average(self, average: bool) -> None: ...
    @property
    def _chooses_rates(self) -> bool: ...
    @_chooses_rates.setter
    def _chooses_rates(self, choose: bool) -> None: ...
    def _keep_rates(self, keep: bool) -> None: ...
    def _hold_scales(self, hold: bool) -> None: ...
    def _begin_judging(
        self, y: NDArray[np.float64], weight: NDArray[np.float64] | None, offset: NDArray[np.float64] | None = None
    ) -> None: ...
    def _end_judging(self) -> None: ...
    def _prune_rates(self) -> None: ...
    def _keep_leaders(self) -> None: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def total_weight(self) -> float: ...
    @property
    def examples(self) -> int: ...
    @property
    def limited_labels(self) -> int: ...

class Mixture:
    """A mixture of members by itself, for tests: learners mix by themselves.

    `kind`: "logistic", "squared", "classes" or "other". Predictions are [member, head], with one head but for classes.
    """

    def __init__(self, kind: str, members: int) -> None: ...
    def say(self, members: NDArray[np.float64], offset: float = 0.0) -> NDArray[np.float64]:
        """What is said of a row, by head."""

    def learn(
        self,
        members: NDArray[np.float64],
        y: float,
        weight: float = 1.0,
        losses: NDArray[np.float64] | None = None,
        offset: float = 0.0,
    ) -> None:
        """Learn the row's label. `losses`: by member, for the kind "other"."""

    def save(self) -> NDArray[np.float64]:
        """All that it knows."""

    def load(self, state: NDArray[np.float64]) -> None:
        """Go on from there."""

ERROR_LEVELS: list[float]

def error_reach(state: NDArray[np.float64], level: float, steady: bool) -> float:
    """The quantile of |error| at a level; infinite if there are too few rows.

    `steady`: the mean of the quantile over the last rows.
    """

def follow_errors(
    state: NDArray[np.float64],
    errors: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    level: float | None,
) -> NDArray[np.float64] | None:
    """Bring quantiles of |error| up to date, row after row; with a level, what `error_reach` was before each row."""

NUMBER_INTERVALS_SIZE: int

def number_limits(
    state: NDArray[np.float64], predictions: NDArray[np.float64], reach: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The lower and the upper limits of prediction intervals; `reach` is the quantile of scaled errors."""

def follow_numbers(
    state: NDArray[np.float64],
    predictions: NDArray[np.float64],
    labels: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    level: float | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Updates the intervals of numbers, row after row. With a level, returns the limits before each row."""

def scale_numbers(
    state: NDArray[np.float64], predictions: NDArray[np.float64], labels: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Updates the scale of errors only. Returns the errors of the rows divided by the final scale."""

MOST_EXACT: int
BUCKETS: int
CONTEXT_SCALES_SIZE: int

def scale_context(state: NDArray[np.float64], slots: list[int], x: list[float], centered: int) -> list[float]:
    """Count a row of features, and return it without units; slots up to `centered` are centered."""

def variances(
    actions: list[tuple[NDArray[np.float64], NDArray[np.float64] | None]], slots: list[int], z: list[float]
) -> list[float]:
    """The variance of the prediction of each action, in units of the noise."""

def reduce_variance(
    exact: NDArray[np.float64], rest: NDArray[np.float64] | None, slots: list[int], z: list[float]
) -> None:
    """Update the uncertainty of an action, which has learned a row."""

def best_probabilities(f: list[float], u: list[float]) -> list[float]:
    """The probability of each action to be the best, for rewards with these means and deviations."""

def normal_below(x: float) -> float:
    """The distribution function of the standard normal distribution."""

class TextRows:
    """What a chunk of text gives: rows of named features with their labels, and the lines that are bad."""

    @property
    def rows(self) -> int: ...
    @property
    def lines(self) -> int: ...
    @property
    def bytes_used(self) -> int: ...
    @property
    def bad_count(self) -> int: ...
    @property
    def bad(self) -> list[tuple[int, str]]: ...
    @property
    def label(self) -> NDArray[np.float64]: ...
    @property
    def weight(self) -> NDArray[np.float64]: ...
    @property
    def offset(self) -> NDArray[np.float64]:
        """Empty if no row has one."""

    @property
    def line(self) -> NDArray[np.int64]: ...
    @property
    def weighted(self) -> bool: ...
    @property
    def tags(self) -> list[str] | None: ...
    @property
    def entries(self) -> int: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def ids(self) -> NDArray[np.uint32]: ...
    @property
    def values(self) -> NDArray[np.float64]: ...
    @property
    def row_ends(self) -> NDArray[np.int64]: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def first_index(self) -> int: ...
    next_index: int
    @property
    def text(self) -> NDArray[np.uint8]: ...
    @property
    def name_ends(self) -> NDArray[np.int64]: ...
    @property
    def tag_text(self) -> NDArray[np.uint8]: ...
    @property
    def tag_ends(self) -> NDArray[np.int64]: ...
    @staticmethod
    def made(
        text: NDArray[np.uint8],
        name_ends: NDArray[np.int64],
        ids: NDArray[np.uint32],
        values: NDArray[np.float64],
        row_ends: NDArray[np.int64],
        label: NDArray[np.float64],
        weight: NDArray[np.float64],
        tag_text: NDArray[np.uint8],
        tag_ends: NDArray[np.int64],
        offset: NDArray[np.float64],
    ) -> TextRows:
        """Rows from the arrays that they consist of."""

    def select(self, mask: NDArray[np.bool_]) -> TextRows:
        """The rows where the mask is true; names keep their numbers."""

class VwReader:
    """Reads Vowpal Wabbit's text, chunk by chunk; features that the patterns leave out are checked, but not given."""

    def __init__(self, ignore: list[str] = ..., only: list[str] = ...) -> None: ...
    @property
    def idle(self) -> list[str]:
        """Patterns that have meant nothing so far."""

    def read(self, data: bytes | bytearray | memoryview | NDArray[np.uint8], last: bool) -> TextRows:
        """The complete lines of a chunk."""

class LibsvmReader:
    """Reads libsvm's and svmlight's text, chunk by chunk."""

    highest: tuple[int, bool]
    """One after the highest index so far; and whether no gap was too wide for all indices below it to be mentioned."""

    def __init__(self, zero_based: bool) -> None: ...
    def read(self, data: bytes | bytearray | memoryview | NDArray[np.uint8], last: bool) -> TextRows:
        """The complete lines of a chunk."""

class CsvReader:
    """Reads rows of delimited text whose columns are known: 0 ignored, 1 number, 2 text, 3 boolean, 4 number apart."""

    def __init__(
        self,
        kinds: list[int],
        delimiter: str,
        forms: list[str] = ...,
        marks: list[str] = ...,
        text_marks: list[str] = ...,
        trim: bool = True,
    ) -> None: ...
    def read(
        self, data: NDArray[np.uint8]
    ) -> (
        tuple[
            NDArray[np.float64],
            NDArray[np.int64],
            list[NDArray[np.float64]],
            list[tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.uint8]]],
            list[tuple[int, int, int, bytes]],
        ]
        | None
    ):
        """Whole rows as arrays, or None if they are not plain."""

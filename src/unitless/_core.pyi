"""The compiled core. Private: `unitless.Learner` is its public face."""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

class Snapshot(TypedDict):
    """The whole state of a learner. Slots that have always been zero are left out."""

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
    """A state that a learner can return to. It takes less time and memory than a `Snapshot`."""

    def fields(self) -> Snapshot: ...

def kernels() -> list[str]:
    """The instruction sets that this machine can run, slowest first."""

def merged_slots(
    parts: list[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]], merging: dict[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Merge the slots of several models: the scale, H by lane, and v by lane, followed by the averages of v."""

most_second_order: int
"""How many features have a place in second-order learners."""

def inverted(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], bool]:
    """The inverse of a matrix, and whether the matrix is positive definite; it has the same bits on all machines."""

def multiplied(matrix: NDArray[np.float64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The product of a matrix with each vector; the array of vectors has one row for each."""

def numbered_names(lists: list[list[str]]) -> tuple[list[str], list[NDArray[np.uint32]]]:
    """The different names of several lists, in order of first occurrence; and the numbers of the names of each list."""

def keep_memory() -> None:
    """Keep freed memory in this process. Memory that returns to the system is cleared before it is used again."""

def thread_count() -> int:
    """How many threads may work: UNITLESS_THREADS, or as many as there are cores."""

def work_alone(from_here_on: bool) -> None:
    """Declare that no other thread uses the models that this thread uses from now on; False withdraws it."""

def _before_fork() -> None:
    """Wait until no thread uses a learner, and let no other thread begin."""

def _after_fork() -> None:
    """Let threads use learners again."""

def row_end(data: bytes, delimiter: str, first: bool) -> int:
    """The place after the last complete row of CSV text (after the first one, if `first`); 0 if no row is complete."""

date_forms: tuple[str, ...]

def written_dates(
    ends: NDArray[np.int64], text: NDArray[np.uint8], form: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Read texts as dates: their times in microseconds, their offsets from UTC, and whether each text is a date."""

def written_date(text: str, form: str) -> tuple[int, int] | None:
    """Read one text as a date: its time in microseconds and its offset from UTC; None if it is not a date."""

def written_numbers(
    ends: NDArray[np.int64], text: NDArray[np.uint8], form: str, marks: list[str]
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Read texts as numbers. The second array is 0 for a number, 1 for a missing value, and 2 for anything else."""

def row_places(
    data: NDArray[np.uint8], delimiter: str, comment: str, every: int, since: int
) -> tuple[int, int, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count the complete rows of a text, and the numbers by which rows are called; then return places among the rows.

    There is a place after every `every` rows, counted as if `since` rows came before the text. The three arrays have
    the offset of each place, and the numbers of rows and of row numbers before it.
    """

def pack_records(columns: list[NDArray[Any]], offsets: list[int], sizes: list[int], out: NDArray[np.uint8]) -> bool:
    """Write columns into records, each at its offset. Columns of 1 or 4 bytes there become whole numbers.

    Returns whether all values fit.
    """

def gather_rows(
    pieces: list[NDArray[Any]], piece: NDArray[np.int64], row: NDArray[np.int64], out: NDArray[Any]
) -> None:
    """Copy rows of several matrices of one type into `out`."""

def entry_starts(
    starts: list[NDArray[np.int64]], piece: NDArray[np.int64], row: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The offsets of rows of several compressed matrices when their entries are copied one after another."""

def gather_entries(
    starts: list[NDArray[np.int64]],
    entries: list[NDArray[Any]],
    piece: NDArray[np.int64],
    row: NDArray[np.int64],
    out: NDArray[Any],
) -> None:
    """Copy the entries of rows of several compressed matrices into `out`."""

def rows_below(key: int, first: int, count: int, highest: int) -> NDArray[np.int64]:
    """The places, from 0, of those of `count` rows, numbered from `first`, whose hash is at most `highest`."""

def gather_text(
    pieces: list[TextRows], piece: NDArray[np.int64], row: NDArray[np.int64], first: int = 0, next: int = 0
) -> TextRows:
    """Rows of several texts, as if they had been read in this order.

    The first row also has the indices from `first` up to, but without, `next`.
    """

class TableColumns:
    """The columns of a table whose rows come one at a time.

    Each is "number", "flag", "text", "words", "ngrams" or "boolean".
    """

    def __init__(self, names: list[str], kinds: list[str], missing: str, marks: list[str], trim: bool) -> None: ...

class WaitingErrors:
    def __init__(self) -> None: ...
    def add(self, scores: float | NDArray[np.float64], truth: float, weight: float, /) -> bool:
        """Store a row, with one score or one for each class. Returns True if all rows should be taken now."""

    def rows(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The scores of all stored rows, one row after the other; labels; weights; the number of scores of each row."""

    def take(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return what `rows` returns, and remove all rows."""

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
        leaf_l1: float,
        leaf_l2: float,
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
        """Learn one mapping of names to numbers. Returns the prediction made before the update."""

    def predict_one(self, x: Mapping[str, float], offset: float = 0.0, *, extrapolate: bool = False) -> float:
        """Predict one mapping of names to numbers, without any change of the learner."""

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
        """Learn one row of a table. Returns the prediction made before the update.

        Returns None, and changes nothing, if only the general way can read the row.
        """

    def _learn_row_wide(
        self, columns: TableColumns, row: Any, y: float, weight: float = 1.0, new_classes: int = 0
    ) -> NDArray[np.float64] | None: ...
    def _predict_row(
        self, columns: TableColumns, row: Any, extrapolate: bool = False, offset: float = 0.0
    ) -> float | None:
        """Predict one row of a table; None if only the general way can read the row."""

    def _predict_row_wide(
        self, columns: TableColumns, row: Any, extrapolate: bool = False
    ) -> NDArray[np.float64] | None: ...
    def _winner_of_row(
        self, columns: TableColumns, row: Any, extrapolate: bool = False, offset: float = 0.0
    ) -> int | None:
        """The number of the class with the largest score."""

    def _word_features(self, column: str, text: str, ngrams: bool) -> list[str]:
        """The names of the features of a text's words, known or not; features that several words share are repeated."""

    def _access_rows_with(self, access: Any) -> None:
        """Pass the rows of `learn_one` and `predict_one` to an object; None ends this.

        The object has the methods `learn(x, y, weight, offset)` and `predict(x, offset, extrapolate)`, and no reference
        to the learner.
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
        """The whole state. Without slots, the arrays that have an entry for each slot are left out."""

    def _read_slots(
        self, slots: NDArray[np.uint32], lanes: NDArray[np.uint32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The scale, H and the values of some slots; see `merged_slots`."""

    def _load_merged(self, snapshot: Snapshot, parts: list[dict[str, Any]], merging: dict[str, Any]) -> bool:
        """Take over a snapshot without slots, with slots that are merged from those of other learners.

        Returns False if one of these learners has learned since the merge was planned.
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
    """A mixture of members without a learner, for tests.

    `kind`: "logistic", "squared", "classes" or "other". Predictions are [member, head], with one head but for classes.
    """

    def __init__(self, kind: str, members: int) -> None: ...
    def say(self, members: NDArray[np.float64], offset: float = 0.0) -> NDArray[np.float64]:
        """The mixture's prediction of a row, one number for each head."""

    def learn(
        self,
        members: NDArray[np.float64],
        y: float,
        weight: float = 1.0,
        losses: NDArray[np.float64] | None = None,
        offset: float = 0.0,
    ) -> None:
        """Learn the row's label. `losses` has the loss of each member, for the kind "other"."""

    def save(self) -> NDArray[np.float64]:
        """The whole state."""

    def load(self, state: NDArray[np.float64]) -> None:
        """Continue from a saved state."""

ERROR_LEVELS: list[float]

def error_reach(state: NDArray[np.float64], level: float, steady: bool) -> float:
    """The quantile of |error| at a level; infinite if there are too few rows.

    With `steady`, the mean of this quantile over the last rows.
    """

def follow_errors(
    state: NDArray[np.float64],
    errors: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    level: float | None,
) -> NDArray[np.float64] | None:
    """Update the quantiles of |error|, row by row. With a level, returns `error_reach` before each row."""

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
    """Update the intervals of numbers, row by row. With a level, returns the limits before each row."""

def scale_numbers(
    state: NDArray[np.float64], predictions: NDArray[np.float64], labels: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Update only the scale of errors. Returns the errors of the rows, divided by the final scale."""

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
    """What was read from a chunk of text: rows of named features with their labels, and lines that cannot be read."""

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
        """Make rows from their arrays."""

    def select(self, mask: NDArray[np.bool_]) -> TextRows:
        """The rows where the mask is true; the numbers of names stay the same."""

class VwReader:
    """Reads Vowpal Wabbit's text, chunk by chunk. Features that the patterns leave out are only checked."""

    def __init__(self, ignore: list[str] = ..., only: list[str] = ...) -> None: ...
    @property
    def idle(self) -> list[str]:
        """Patterns that no namespace has matched so far."""

    def read(self, data: bytes | bytearray | memoryview | NDArray[np.uint8], last: bool) -> TextRows:
        """The complete lines of a chunk."""

class LibsvmReader:
    """Reads libsvm's and svmlight's text, chunk by chunk."""

    highest: tuple[int, bool]
    """The highest index so far plus 1; and whether all gaps between indices are small enough to name every index."""

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
        """Complete rows as arrays; None if only the general way can read them."""

"""Digests of predictions and model files, which detect any change of a single bit.

Each configuration below is a list of words: the rule, the loss, further options, the kind of model, and the form of its
rows. `tests/models/digests.json` stores the SHA-256 digests of its predictions and of the content of its model file;
every instruction set must give the same ones. If bits are meant to change, `python tests/models/test_digests.py
--accept` stores new digests and lists the configurations whose digests changed; the changelog must explain why.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import safetensors.numpy
import scipy.sparse as sp
from instruction_sets import KERNELS

import unitless as ul
from unitless.models.file import to_bytes

STORED = Path(__file__).with_name("digests.json")

CONFIGURATIONS = """
    nag squared auto target center fitted csv
    nag squared auto target center average fitted weights parquet
    nag logistic auto center average fitted table
    nag logistic auto classes center average fitted csv
    snag logistic auto average fitted vwtext
    nag hinge auto average fitted weights libsvm
    nag quantile auto target center average fitted long parquet
    gd squared dense
    gd squared auto target center frame
    gd squared constant unaware weights listed csr
    gd logistic clip-vw fortran
    gd logistic auto weights single
    gd hinge classes weights dense
    gd quantile low target weights whole
    gd quantile sweep clip unbiased csr
    gd poisson unaware hashed mappings
    gd poisson auto pairs frame
    gd squared vw clip-vw weights dense
    gd logistic vw hashed constant vwtext
    ag squared auto ordered target mappings
    ag squared sweep center weights fortran
    ag logistic unbiased pairs single
    ag logistic open auto csr
    ag hinge center listed weights frame
    ag logistic auto wide pairs mappings
    snag logistic wide ordered weights vwtext
    ag quantile high clip whole
    ag quantile classes auto center weights frame
    ag poisson hashed listed mappings
    ag poisson center unaware fortran
    ag squared csv
    ag logistic center weights parquet
    ng squared constant weights dense
    ng squared auto target center pairs long dense
    ng squared target unaware low csr
    ng logistic auto center table
    ng hinge auto unbiased weights fortran
    ng hinge vw constant single
    ng quantile high sweep target frame
    ng quantile auto hashed weights mappings
    ng poisson pairs weights whole
    ng poisson open center ordered dense
    ng squared center parquet
    ng logistic hashed weights libsvm
    ng logistic sweep-classes weights csr
    nag squared dense
    nag squared single
    nag squared whole
    nag squared fortran
    nag squared csr
    nag squared mappings
    nag squared frame
    nag squared auto long weights csr
    nag squared auto target center weights csv
    nag squared vw clip-vw weights vwtext
    nag squared hashed wide clip fortran
    nag logistic weights center single
    nag logistic auto hashed listed weights mappings
    nag logistic auto long center weights whole
    nag logistic classes auto long dense
    nag logistic open auto pairs weights mappings
    nag logistic open hashed mappings
    nag logistic sweep auto-grid weights single
    nag logistic sweep-classes center fortran
    nag logistic listed weights csv
    nag logistic auto classes center weights table
    nag logistic auto classes weights vwtext
    nag logistic auto pairs libsvm
    nag hinge vw listed dense
    nag hinge sweep hashed unbiased mappings
    nag hinge center weights pairs parquet
    nag quantile high auto target weights fortran
    nag quantile low open center clip dense
    nag quantile high center csv
    nag poisson auto weights frame
    nag poisson classes hashed csr
    nag poisson vw unaware single
    nag poisson auto center weights parquet
    newton squared dense
    newton squared target center weights long frame
    newton squared clip average csv
    newton logistic unbiased pairs weights mappings
    newton logistic center long table
    newton logistic hashed csr
    snag squared dense
    snag squared auto target center weights long frame
    snag squared vw weights mappings
    snag squared sweep target ordered whole
    snag squared auto center parquet
    snag logistic open auto weights long mappings
    snag logistic classes unaware listed frame
    snag logistic auto hashed weights vwtext
    snag logistic weights libsvm
    snag hinge unbiased csr
    snag hinge auto center pairs weights table
    snag hinge sweep-classes hashed mappings
    snag quantile low target center listed fortran
    snag quantile high hashed weights single
    gd squared average weights csr
    ag logistic auto average frame
    ng squared average center target pairs dense
    nag squared average long weights fortran
    nag logistic auto average long center weights whole
    nag logistic open auto average pairs weights mappings
    nag poisson sweep average csr
    nag squared auto target center average weights csv
    snag logistic classes auto average long dense
    snag squared average weights mappings
    snag quantile auto weights csv
    snag poisson sweep center dense
"""
SHAPED = """
    nag squared curves dense
    nag squared auto curves target center weights frame
    nag squared trees fortran
    nag squared auto trees target long weights mappings
    nag squared auto trees target center fitted csv
    nag squared auto trees target weights parquet
    nag squared auto curves-only long dense
    nag squared curves-only target weights single
    nag logistic auto curves long whole
    nag logistic auto trees long dense
    nag logistic trees weights mappings
    nag logistic auto curves-only weights frame
    nag logistic auto trees center table
    nag logistic curves listed weights dense
    nag logistic classes auto trees long dense
    nag logistic classes curves weights mappings
    nag logistic classes curves-only frame
    nag logistic open auto trees weights mappings
    nag logistic auto classes trees weights csv
    nag hinge trees weights dense
    nag hinge classes auto curves single
    nag quantile high auto trees target weights frame
    nag quantile low curves-only mappings
    nag poisson auto trees weights dense
    nag poisson curves mappings
    snag squared auto trees target weights dense
    snag logistic curves weights mappings
    snag quantile curves-only dense
    snag logistic classes auto trees frame
    ng squared trees target weights mappings
    ng logistic auto curves dense
    ng hinge curves-only weights frame
    ag logistic trees weights dense
    gd squared auto curves target mappings
    nag logistic auto members center dense
    nag logistic auto members csr
    nag squared auto members target center weights frame
    nag squared auto members trees target mappings
    nag logistic classes auto members weights dense
    nag logistic open auto members trees mappings
    nag logistic auto members libsvm
    nag squared auto members target center average fitted csv
"""


def names(configurations: str) -> list[str]:
    return sorted(" ".join(line.split()) for line in configurations.splitlines() if line.strip())


NAMES = names(CONFIGURATIONS + SHAPED)

RULES = ("gd", "ag", "ng", "nag", "snag", "newton")
LOSSES = ("squared", "logistic", "hinge", "quantile", "poisson")
MODELS = ("classes", "open", "sweep", "sweep-classes")  # a plain learner if none of these
SHAPES = {"curves": "curves", "trees": "trees", "curves-only": "curves only"}
OPTIONS: dict[str, dict[str, Any]] = {
    "auto": {"learning_rate": "auto"},
    "unaware": {"importance_aware": False},
    "unbiased": {"bias": False},
    "low": {"quantile": 0.2},
    "high": {"quantile": 0.9},
    "constant": {"schedule": "constant"},
    "vw": {"order": "vw"},
    "clip": {"clip": "labels"},
    "clip-vw": {"clip": "vw"},
    "target": {"target": "auto"},
    "center": {"center": True},
    "pairs": {"interactions": 2},
    "ordered": {"interactions": "ordered"},
    "listed": {},  # which ones depends on the features' names
    "hashed": {"bits": 5},  # so few that features collide
    "wide": {"bits": 18},
    "average": {"average": True},
    "members": {"ensemble": True},
}
ARRAYS = ("dense", "single", "whole", "fortran", "csr")
IN_MEMORY = (*ARRAYS, "mappings", "frame")
TRAINED = ("table", "csv", "parquet", "vwtext", "libsvm")  # by ul.train
# Options of a stream: rows have weights; there are many rows; a sweep over the paper's grid; rows in random order.
OTHERS = ("weights", "long", "auto-grid", "fitted")

ROWS, LONG, COLUMNS = 300, 2300, 9
UNITS = (1e-6, 1.0, 1e5, 3.0, 1.0, 250.0, 1.0, 1e-3, 40.0)
COEFFICIENTS = (1.0, -2.0, 0.5, 0.0, 1.5, -1.0, 0.75, -0.25, 1.0)
COLUMN_NAMES = tuple("abcdefghi")
CLASSES = ("red", "green", "blue", "none")
RATES = (0.02, 0.1, 0.5, 1.0, 4.0)
BREAKS = (0, 1, 2, 9, 73, 137)  # where the stream is cut into calls; the remaining rows are one more call


class Stream(NamedTuple):
    """Rows in plain arrays."""

    X: np.ndarray
    score: np.ndarray  # the numbers from which labels are made
    weight: np.ndarray


def uniform(seed: int) -> Iterator[float]:
    """xorshift64*, from 0 to 1: unlike a library's generator it will never change."""
    state = seed
    while True:
        state ^= state >> 12
        state = (state ^ (state << 25)) & 0xFFFF_FFFF_FFFF_FFFF
        state ^= state >> 27
        yield (state * 0x2545F4914F6CDD1D & 0xFFFF_FFFF_FFFF_FFFF) / 2**64


@cache
def stream(rows: int, seed: int, unit_free: bool, whole: bool) -> Stream:
    """Numbers of many sizes, made by basic arithmetic alone: a third zeros, an offset, ones and zeros, a late column.

    The baselines get unit scales. After half of the rows some columns grow.
    """
    random = uniform(seed)
    X, scores, weights = [], [], []
    for r in range(rows):
        plain = [next(random) + next(random) + next(random) - 1.5 for _ in range(COLUMNS)]
        plain = [0.0 if next(random) < 0.3 else x for x in plain]
        plain[4] = float(plain[4] > 0.0)
        if r < rows // 3:
            plain[7] = 0.0
        score = 0.4 * (next(random) - 0.5)
        # in order: the result of `sum` depends on the version of Python
        for coefficient, x in zip(COEFFICIENTS, plain, strict=True):
            score += coefficient * x
        scores.append(score)
        if unit_free and r >= rows // 2:
            plain[1], plain[6] = 7.3 * plain[1], 70.1 * plain[6]
        row = [x * (unit if unit_free else 1.0) for x, unit in zip(plain, UNITS, strict=True)]
        row[5] += 9.0 * UNITS[5] if unit_free else 0.5
        X.append([float(round(40 * x)) for x in plain] if whole else row)
        weights.append((0.0, 0.5, 1.0, 1.0, 3.25)[int(5 * next(random))])
    return Stream(np.array(X), np.array(scores), np.array(weights))


def labels(loss: str, score: np.ndarray, classes: bool) -> Any:
    if classes:
        return [CLASSES[int(s > -1.0) + int(s > 0.0) + int(s > 1.2)] for s in score.tolist()]
    if loss in ("logistic", "hinge"):
        return np.where(score > 0.2, 1.0, -1.0)
    if loss == "poisson":
        return np.array([float(int((s + 2.0) * (s + 2.0))) if s > -2.0 else 0.0 for s in score.tolist()])
    return 3.0 * score + 1.0


def mappings(X: np.ndarray) -> list[dict[str, float]]:
    """Rows by name. Most zeros are left out, and every third row has its names in another order."""
    rows = []
    for r, values in enumerate(X.tolist()):
        row = {name: x for j, (name, x) in enumerate(zip(COLUMN_NAMES, values, strict=True)) if x or (r + j) % 5 == 0}
        rows.append(dict(reversed(row.items())) if r % 3 == 0 else row)
    return rows


def shaped(X: np.ndarray, kind: str) -> Any:
    """The rows in the container that a configuration names."""
    if kind == "mappings":
        return mappings(X)
    if kind == "frame":
        frame = pd.DataFrame(X, columns=list(COLUMN_NAMES))
        return frame.astype({"e": bool, "b": np.float32})
    return {
        "dense": lambda: X,
        "single": lambda: X.astype(np.float32),
        "whole": lambda: X.astype(np.int32),
        "fortran": lambda: np.asfortranarray(X),
        "csr": lambda: sp.csr_matrix(X),
    }[kind]()


def table(data: Stream, y: Any) -> pd.DataFrame:
    """Numbers, text and missing values."""
    frame = pd.DataFrame(data.X, columns=list(COLUMN_NAMES))
    frame["e"] = frame["e"].astype(bool)
    frame["colour"] = [CLASSES[int(abs(w) * 7 + abs(s) * 3) % 4] for w, s in zip(data.weight, data.score, strict=True)]
    frame.loc[3::7, "b"] = np.nan
    frame.loc[5::11, "colour"] = None
    frame["importance"] = data.weight
    frame["y"] = y
    return frame


def vw_line(row: dict[str, float], label: Any, weight: float) -> str:
    return f"{label!r} {weight!r} | " + " ".join(f"{name}:{x!r}" for name, x in row.items())


def written(kind: str, data: Stream, y: Any, weighted: bool, folder: Path) -> Any:
    """A source for `train`: a frame, or the path of a file."""
    path = folder / f"rows.{kind}"
    if kind in ("vwtext", "libsvm"):
        plain = y if not isinstance(y[0], str) else [1 + CLASSES.index(label) for label in y]
        plain = [int(label) for label in plain] if kind == "libsvm" or isinstance(y[0], str) else plain.tolist()
        if kind == "vwtext":
            weights = data.weight.tolist() if weighted else itertools.repeat(1.0)
            lines = [vw_line(*line) for line in zip(mappings(data.X), plain, weights)]  # noqa: B905
        else:
            rows = [enumerate(row, 1) for row in data.X.tolist()]
            lines = [
                f"{label} " + " ".join(f"{j}:{x!r}" for j, x in row if x)
                for label, row in zip(plain, rows, strict=True)
            ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return str(path)
    frame = table(data, y)
    if kind == "table":
        return frame
    if kind == "csv":
        lines = [frame.columns.tolist()] + [[_cell(value) for value in row] for row in frame.values.tolist()]
        path.write_text("".join(",".join(line) + "\n" for line in lines), encoding="utf-8")
    else:
        pa.parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=70)
    return str(path)


def _cell(value: Any) -> str:
    return "" if pd.isna(value) else value if isinstance(value, str) else repr(value)


class Configuration:
    """A configuration, parsed from its words."""

    def __init__(self, name: str) -> None:
        self.words = name.split()
        known = (*RULES, *LOSSES, *MODELS, *SHAPES, *OPTIONS, *IN_MEMORY, *TRAINED, *OTHERS)
        assert all(word in known for word in self.words), name
        assert len(set(self.words)) == len(self.words), name
        self.rule, self.loss = self.words[:2]
        self.kind = self.words[-1]
        self.model = next((word for word in self.words if word in MODELS), None)
        self.weighted = "weights" in self.words
        self.several = self.model in ("classes", "open", "sweep-classes")

    def options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"rule": self.rule, "loss": self.loss}
        for word in self.words:
            options |= OPTIONS.get(word, {}) | ({"model_type": SHAPES[word]} if word in SHAPES else {})
        if "listed" in self.words:
            group = "colour=*" if self.kind in TRAINED else "c*"
            named = [("a", "d"), (["b", group], ["f", "i"])]
            options["interactions"] = [(0, 4), ([1, 2], [5, 8])] if self.kind in ARRAYS else named
        return options

    def stream(self, seed: int) -> Stream:
        rows = LONG if "long" in self.words else ROWS
        return stream(rows, seed, self.rule not in ("gd", "ag"), self.kind == "whole")

    def rate(self) -> float:
        return {"gd": 0.02, "ag": 0.02, "newton": 0.5}.get(self.rule, 0.3)  # newton has no such option: use the default

    def make(self) -> Any:
        options = self.options()
        if self.model in ("sweep", "sweep-classes"):
            rates = None if "auto-grid" in self.words else RATES if self.rule == "nag" else RATES[:3]
            return ul.Sweep(rates, classes=CLASSES if self.several else None, **options)
        options.setdefault("learning_rate", self.rate())
        if self.several:
            return ul.OneVsAll(None if self.model == "open" else CLASSES, **options)
        return ul.Learner(**options)

    def digests(self, folder: Path) -> dict[str, str]:
        """Digest the learned state, the predictions and the model file."""
        result = self.trained(folder) if self.kind in TRAINED else self.fed()
        model = result.pop("model")
        return {what: digest(values) for what, values in result.items()} | {"model": content(to_bytes(model))}

    def fed(self) -> dict[str, Any]:
        """Learn rows in memory, in several calls."""
        data, later = self.stream(seed=1), self.stream(seed=2)
        y, model = labels(self.loss, data.score, self.several), self.make()
        learned: list[Any] = []
        for start, end in itertools.pairwise((*BREAKS, len(y))):
            X = shaped(data.X[start:end], self.kind)
            weight = data.weight[start:end] if self.weighted else None
            if self.kind == "mappings" and end < 100:
                weights = [1.0] * (end - start) if weight is None else weight.tolist()
                learned += [model.learn_one(*row) for row in zip(X, y[start:end], weights, strict=True)]
            else:
                learned.append(model.learn(X, y[start:end], weight))
        asked = shaped(3 * later.X[:60], self.kind)
        predicted = [model.predict(asked), model.predict(asked, extrapolate=True)]
        if self.kind == "mappings":
            predicted += [model.predict_one(row) for row in asked[:9]]
        if "average" in self.words:
            model.keep("averaged")
            predicted += [model.predict(asked), model.predict(asked, extrapolate=True)]
        return {"learned": learned, "predicted": predicted, "model": model}

    def trained(self, folder: Path) -> dict[str, Any]:
        """Learn tables and files with `train`. Numbers that depend on NumPy's exponential are left out."""
        data = self.stream(seed=3)
        y = labels(self.loss, data.score, self.several)
        source = written(self.kind, data, y, self.weighted, folder)
        options = {"learning_rate": self.rate(), "center": False, "ensemble": False} | self.options()
        form = ul.Reading()
        if self.kind in ("vwtext", "libsvm"):
            form = ul.Reading(format={"vwtext": "vw"}.get(self.kind, self.kind))
            options["reading"] = form
            del options["center"]
        else:
            options |= {"target": "y", "reading": ul.Reading(ignore=() if self.weighted else "importance")}
            options |= {"weight": "importance"} if self.weighted else {}
        numbers = self.loss in ("squared", "quantile", "poisson")
        task = "classes" if self.several else "regression" if numbers else "binary"
        model_type = options.pop("model_type", "linear")
        result = ul.train(source, task=task, model_type=model_type, shuffle="fitted" in self.words, **options)
        facts = [result.rows, result.details.learned, result.details.missing, result.progressive.get("error_rate")]
        if not (self.several and self.loss == "logistic"):
            facts.append(result.details.evaluation.loss)
        predicted = [] if self.loss == "poisson" else [result.predict(source, reading=form)]
        if self.kind == "table":
            predicted.append(result.model.predict(source.drop(columns=["y", "importance"])))
        return {"learned": facts, "predicted": predicted, "model": result.model}


def digest(values: list[Any]) -> str:
    """Digest arrays, numbers and text by their values, independent of their containers."""
    result = hashlib.sha256()
    for value in values:
        array = np.asarray(value)
        if array.dtype.kind == "f":
            result.update(f"{array.shape} ".encode())
            result.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
        else:
            result.update(repr(array.tolist()).encode())
    return result.hexdigest()


def content(data: bytes) -> str:
    """Digest a model file: its arrays and the meaning of its header, without formatting, place and time."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["unitless"])
    for name in ("version", "digest"):
        header.pop(name)
    if header["training"] is not None:
        header["training"] = {name: header["training"][name] for name in ("schema", "target")}
    result = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name, array in sorted(safetensors.numpy.load(data).items()):
        result.update(f"{name} {array.dtype} {array.shape} ".encode())
        result.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes())
    return result.hexdigest()


@cache
def stored() -> dict[str, dict[str, str]]:
    return json.loads(STORED.read_text())  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", NAMES)
def test_predictions_and_model_files_have_the_stored_digests(name: str, kernel: str, tmp_path: Path) -> None:
    assert Configuration(name).digests(tmp_path) == stored()[name]


def test_every_configuration_and_no_other_has_stored_digests() -> None:
    assert sorted(stored()) == NAMES
    assert len(NAMES) >= 60


def test_every_word_occurs_several_times() -> None:
    used = [word for name in NAMES for word in name.split()]
    rare = {word for word in (*RULES, *LOSSES, *MODELS, *OPTIONS, *IN_MEMORY, *TRAINED) if used.count(word) < 3}
    assert not rare


def accept() -> None:
    """Store the digests of this version if all instruction sets agree on them."""
    old = stored() if STORED.exists() else {}
    new = {}
    for name in NAMES:
        found = []
        for kernel in KERNELS:
            os.environ["UNITLESS_KERNEL"] = kernel
            with tempfile.TemporaryDirectory() as folder:
                found.append(Configuration(name).digests(Path(folder)))
        if any(other != found[0] for other in found):
            raise SystemExit(f"{name}: the instruction sets {', '.join(KERNELS)} differ; nothing was written")
        new[name] = found[0]
        if new[name] != old.get(name):
            changed = [what for what, value in new[name].items() if value != old.get(name, {}).get(what)]
            print(f"{name}: {', '.join(changed)}")
    STORED.write_text(json.dumps(new, indent=1) + "\n")
    print(f"{len(new)} configurations in {STORED.name}")


if __name__ == "__main__":
    if sys.argv[1:] != ["--accept"]:
        raise SystemExit(f"usage: python {sys.argv[0]} --accept")
    accept()

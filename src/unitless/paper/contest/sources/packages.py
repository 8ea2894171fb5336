"""Tables that are files inside the packages scikit-learn, River and statsmodels. The packages are not imported."""

from __future__ import annotations

import importlib.util
import pathlib
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import DatasetError
from ....inputs import Float64
from ..table import Source, Table, Task, complete, csv_columns, lagged, matrix

HOMES: dict[Source, tuple[str, str]] = {
    "scikit-learn": ("sklearn", "datasets/data"),
    "River": ("river", "datasets"),
    "statsmodels": ("statsmodels", "datasets"),
}
"""The package of each source, and its folder of datasets."""


def _folder(source: Source) -> pathlib.Path:
    package, folder = HOMES[source]
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise DatasetError(
            f"the package {package}, which has this table, is not installed: pip install 'unitless[paper]'"
        )
    return pathlib.Path(found.submodule_search_locations[0]) / folder


def _table(
    name: str,
    source: Source,
    task: Task,
    file: str,
    target: str,
    *,
    leave_out: tuple[str, ...] = (),
    label: Callable[[Any], Any] | None = None,
    in_order: bool = False,
    about: str = "",
    **options: Any,
) -> Table:
    """A table whose label is one of the columns of a file."""

    def read(directory: pathlib.Path | None) -> tuple[Float64, Any]:
        columns = csv_columns(_folder(source) / file, **options)
        y = columns[target]
        return complete(matrix(columns, {target, *leave_out}), y if label is None else label(y))

    return Table(name, source, task, read, in_order, about)


def _series(name: str, source: Source, file: str, column: str, lags: int, about: str) -> Table:
    """A table whose label is the next value of a series."""

    def read(directory: pathlib.Path | None) -> tuple[Float64, Float64]:
        return lagged(csv_columns(_folder(source) / file)[column], lags)

    return Table(name, source, "regression", read, True, about)


def _diabetes(directory: pathlib.Path | None) -> tuple[Float64, Float64]:
    folder = _folder("scikit-learn")
    files = [folder / "diabetes_data_raw.csv.gz", folder / "diabetes_target.csv.gz"]
    for file in files:
        if not file.is_file():
            raise DatasetError(f"there is no file {file.name}")
    return np.loadtxt(files[0]), np.loadtxt(files[1])


def _bananas(directory: pathlib.Path | None) -> tuple[Float64, Any]:
    file = _folder("River") / "banana.zip"
    if not file.is_file():
        raise DatasetError(f"there is no file {file.name}")
    with zipfile.ZipFile(file) as archive:
        lines = archive.read("banana.all.txt").decode().split("\n")
    rows = [line.split() for line in lines if line.strip()]
    X = np.array([[float(cell.partition(":")[2]) for cell in row[1:]] for row in rows])
    return X, np.array([float(row[0]) for row in rows])


def _positive(y: Any) -> Any:
    return np.asarray(y, dtype=np.float64) > 0


def _yeast(directory: pathlib.Path | None) -> tuple[Float64, Any]:
    columns = csv_columns(_folder("River") / "yeast.csv.gz")
    return matrix(columns, {name for name in columns if name.startswith("Class")}), columns["Class1"]


_FLOWERS = ["sepal length", "sepal width", "petal length", "petal width", "kind"]
_WINE = [f"x{k}" for k in range(13)] + ["kind"]
_CELLS = [f"x{k}" for k in range(30)] + ["kind"]
_PIXELS = [f"x{k}" for k in range(64)] + ["digit"]

TABLES = [
    _table(
        "breast cancer",
        "scikit-learn",
        "binary",
        "breast_cancer.csv",
        "kind",
        names=_CELLS,
        skip=1,
        about="0.001 to 4,254",
    ),
    _table("wine", "scikit-learn", "classes", "wine_data.csv", "kind", names=_WINE, skip=1, about="0.1 to 1,680"),
    _table("iris", "scikit-learn", "classes", "iris.csv", "kind", names=_FLOWERS, skip=1, about="cm"),
    _table("digits", "scikit-learn", "classes", "digits.csv.gz", "digit", names=_PIXELS, about="64 counts"),
    Table("diabetes", "scikit-learn", "regression", _diabetes, about="age, mg/dl, ratios"),
    _table("phishing", "River", "binary", "phishing.csv.gz", "is_phishing", about="0 to 1"),
    _table("image segments", "River", "classes", "segment.csv.zip", "category", about="-50 to 1,400"),
    Table("bananas", "River", "binary", _bananas, about="two numbers; not linear"),
    _table("chick weights", "River", "regression", "chick-weights.csv", "weight", in_order=True, about="days, numbers"),
    _table(
        "Trump approval",
        "River",
        "regression",
        "trump_approval.csv.gz",
        "five_thirty_eight",
        in_order=True,
        about="dates near 736,000 and percentages",
    ),
    _table(
        "S&P 500",
        "River",
        "regression",
        "sp500.csv.gz",
        "next_day_return",
        leave_out=("date",),
        in_order=True,
        about="almost only noise",
    ),
    Table("yeast", "River", "binary", _yeast, about="103 numbers near 0.1"),
    _series("water flow", "River", "water-flow.csv", "Water flow [l/s]", 6, "liters per second"),
    _table("shuttle anomalies", "River", "binary", "shuttle.csv.gz", "anomaly", about="up to 15,000"),
    _table(
        "election", "statsmodels", "binary", "anes96/anes96.csv", "'vote'", delimiter="\t", about="people, years, codes"
    ),
    _table("affairs", "statsmodels", "binary", "fair/fair.csv", "affairs", label=_positive, about="years and codes"),
    _table(
        "travel modes",
        "statsmodels",
        "binary",
        "modechoice/modechoice.csv",
        "choice",
        leave_out=("individual",),
        delimiter=";",
        about="minutes, dollars, codes",
    ),
    _table("doctor visits", "statsmodels", "regression", "randhie/randhie.csv", "mdvis", about="counts and logarithms"),
    _table(
        "school tests", "statsmodels", "regression", "star98/star98.csv", "PR50M", about="shares, dollars, products"
    ),
    _table("investment", "statsmodels", "regression", "grunfeld/grunfeld.csv", "invest", about="millions and years"),
    _table("food", "statsmodels", "regression", "engel/engel.csv", "foodexp", about="francs"),
    _table("cancer deaths", "statsmodels", "regression", "cancer/cancer.csv", "cancer", about="people"),
    _table(
        "unemployment",
        "statsmodels",
        "regression",
        "macrodata/macrodata.csv",
        "unemp",
        in_order=True,
        about="billions, indices, rates",
    ),
    _table("credit cards", "statsmodels", "regression", "ccard/ccard.csv", "AVGEXP", about="dollars and their squares"),
    _series("sunspots", "statsmodels", "sunspots/sunspots.csv", "SUNACTIVITY", 11, "counts"),
    _series("carbon dioxide", "statsmodels", "co2/co2.csv", "co2", 4, "ppm: an offset of 340 with changes of 1"),
]

"""Raw files and their preparation by hand: the files of `raw_files.py`.

Six files are as they were published. The others have the rows of one of the six in another common form: without a
header row, with ids, with currency signs, in another encoding, with marks of missing values.
"""

from __future__ import annotations

import csv
import gzip
import io
import pathlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Prepared:
    """A person's knowledge about the columns of a table: other columns are not used."""

    target: str
    numbers: tuple[str, ...]
    categories: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    regression: bool = True


@dataclass(frozen=True)
class Published:
    """A file as it was published."""

    path: str
    prepared: Prepared
    delimiter: str = ","
    names: tuple[str, ...] = ()  # of a file without a header row


@dataclass(frozen=True)
class Written:
    """The form in which the rows of a table are written."""

    delimiter: str = ","
    header: bool = True
    quoted: bool = False
    encoding: str = "utf-8"
    before: str = ""
    after: str = ""
    newline: str = "\n"


@dataclass(frozen=True)
class Rows:
    """A table:

    its texts as they are in the file, and the same values as a person understands them, "" where missing.
    """

    shown: pd.DataFrame
    known: pd.DataFrame


Change = Callable[[Rows, np.random.Generator], Rows]


@dataclass(frozen=True)
class RawFile:
    """One file to learn from. Without a change it is the published file, line by line."""

    name: str
    published: str
    oddity: str
    change: Change | None = None
    written: Written = field(default_factory=Written)
    target: str | None = None  # if it has another name than in the published file


def _numbered(stem: str, *numbers: range) -> tuple[str, ...]:
    return tuple(f"{stem}{k}" for some in numbers for k in some)


PUBLISHED = {
    "bank": Published(
        "bank-full.csv.gz",
        Prepared(
            "y",
            ("age", "balance", "day", "duration", "campaign", "pdays", "previous"),
            ("job", "marital", "education", "default", "housing", "loan", "contact", "month", "poutcome"),
            regression=False,
        ),
        ";",
    ),
    "beijing": Published(
        "beijing_pm25.csv.gz",
        Prepared("pm", ("year", "day", "DEWP", "TEMP", "PRES", "Iws", "Is", "Ir"), ("month", "hour", "cbwd")),
    ),
    "credit": Published(
        "credit_default.csv.gz",
        Prepared(
            "Y",
            ("X1", "X5", *_numbered("X", range(12, 24))),
            _numbered("X", range(2, 5), range(6, 12)),
            regression=False,
        ),
    ),
    "diamonds": Published(
        "diamonds.csv.gz",
        Prepared("price", ("carat", "depth", "table", "x", "y", "z"), ("cut", "color", "clarity")),
    ),
    "house": Published(
        "kc_house.csv.gz",
        Prepared(
            "price",
            (
                *("bedrooms", "bathrooms", "sqft_living", "sqft_lot", "floors", "waterfront", "view", "condition"),
                *("grade", "sqft_above", "sqft_basement", "yr_built", "yr_renovated", "lat", "long"),
                *("sqft_living15", "sqft_lot15"),
            ),
            ("zipcode",),
            ("date",),
        ),
    ),
    "shuttle": Published(
        "shuttle_test.csv.gz",
        Prepared("10", tuple(map(str, range(1, 10))), regression=False),
        names=tuple(map(str, range(1, 11))),
    ),
}


def read_published(name: str, folder: pathlib.Path) -> tuple[list[bytes], Rows]:
    """The lines of a published file, and its values. A file with a header row has one line more than it has rows."""
    published = PUBLISHED[name]
    raw = gzip.decompress((folder / published.path).read_bytes())
    names = list(published.names)
    texts = pd.read_csv(
        io.BytesIO(raw),
        sep=published.delimiter,
        header=None if names else "infer",
        names=names or None,
        dtype=str,
        keep_default_na=False,
    )
    known = texts.replace("NA", "")
    return raw.splitlines(keepends=True), Rows(texts, known)


def write(path: pathlib.Path, rows: pd.DataFrame, written: Written) -> None:
    """Write a table."""
    body = rows.to_csv(
        sep=written.delimiter,
        index=False,
        header=written.header,
        quoting=csv.QUOTE_ALL if written.quoted else csv.QUOTE_MINIMAL,
        lineterminator=written.newline,
    )
    path.write_bytes((written.before + body + written.after).encode(written.encoding))


# ------------------------------------------------------------------------------------------- other ways to write them


def _same(rows: Rows, _: np.random.Generator) -> Rows:
    return rows


def _shown(rows: Rows, **columns: pd.Series | np.ndarray) -> Rows:
    """The same table with some columns written in another way, or with further ones in front."""
    new = {name: values for name, values in columns.items() if name not in rows.shown}
    old = {name: values for name, values in columns.items() if name in rows.shown}
    shown = pd.concat([pd.DataFrame(new, index=rows.shown.index), rows.shown.assign(**old)], axis=1)
    return Rows(shown, rows.known)


def _with_text_ids(rows: Rows, random: np.random.Generator) -> Rows:
    ids = [str(uuid.UUID(bytes=random.bytes(16))) for _ in range(len(rows.shown))]
    first = ("Anna", "Ben", "Clara", "David", "Emma", "Felix", "Greta", "Henry", "Ida", "Jonas", "Karin", "Leo")
    last = ("Abel", "Bauer", "Cole", "Diaz", "Evans", "Fuchs", "Gray", "Huber", "Ito", "Jones", "Klein", "Lopez")
    people = [
        f"{first[a]} {chr(65 + b)}. {last[c]}-{last[d]}"
        for a, b, c, d in zip(*(random.integers(0, top, len(ids)) for top in (12, 26, 12, 12)), strict=True)
    ]
    return _shown(rows, client=np.array(ids), name=np.array(people))


def _with_currency(rows: Rows, random: np.random.Generator) -> Rows:
    prices = pd.to_numeric(rows.known["price"])
    shares = pd.to_numeric(rows.known["sqft_above"]) / pd.to_numeric(rows.known["sqft_living"])
    return _shown(
        rows,
        price=prices.map(lambda price: "" if np.isnan(price) else f"${price:,.2f}"),
        above=shares.map(lambda share: f"{100 * share:.1f}%"),
    )


def _european(rows: Rows, _: np.random.Generator) -> Rows:
    def as_written(number: float) -> str:
        return "" if np.isnan(number) else f"{number:,.2f}".translate(str.maketrans(",.", ".,"))

    def with_comma(text: str) -> str:
        return text.replace(".", ",")

    columns = {name: pd.to_numeric(rows.known[name]).map(as_written) for name in ("price", "sqft_living", "sqft_lot")}
    return _shown(rows, **columns, **{name: rows.known[name].map(with_comma) for name in ("bathrooms", "lat", "long")})


def _european_dates(rows: Rows, _: np.random.Generator) -> Rows:
    return _shown(rows, date=pd.to_datetime(rows.known["date"]).dt.strftime("%d/%m/%Y"))


def _with_times(rows: Rows, random: np.random.Generator) -> Rows:
    """The hour of a row as one column, in the form of an American spreadsheet."""
    parts = rows.known[["year", "month", "day", "hour"]].astype(int)
    moments = pd.to_datetime(parts).dt.strftime("%m/%d/%Y %H:%M")
    changed = _shown(rows, when=moments)
    return replace(changed, shown=changed.shown.drop(columns=["No", "year", "month", "day", "hour"]))


def _without_some_targets(rows: Rows, random: np.random.Generator) -> Rows:
    gone = random.random(len(rows.shown)) < 0.3
    return Rows(
        rows.shown.assign(Y=rows.shown["Y"].mask(gone, "")), rows.known.assign(Y=rows.known["Y"].mask(gone, ""))
    )


def _with_missing_marks(rows: Rows, random: np.random.Generator) -> Rows:
    shown, known = rows.shown.copy(), rows.known.copy()
    for k, name in enumerate(("X1", "X5", "X12", "X18", "X19", "X20")):
        gone = random.random(len(shown)) < 0.1
        shown[name] = shown[name].mask(gone, ("?", "-", "null", "n/a", "NA", ".")[k])
        known[name] = known[name].mask(gone, "")
    return Rows(shown, known)


def _with_one_slip(rows: Rows, _: np.random.Generator) -> Rows:
    shown, known = rows.shown.copy(), rows.known.copy()
    shown.loc[5500, "X12"] = "oops"
    known.loc[5500, "X12"] = ""
    return Rows(shown, known)


def _with_blanks(rows: Rows, _: np.random.Generator) -> Rows:
    numbers = ("age", "balance", "duration")
    padded = {name: rows.shown[name].map("{:>8} ".format) for name in numbers}
    labels = rows.shown["y"].where(rows.shown.index % 3 > 0, rows.shown["y"] + "  ")
    return _shown(rows, **padded, job=" " + rows.shown["job"], y=labels)


def _with_accents(rows: Rows, _: np.random.Generator) -> Rows:
    accents = {"management": "Geschäftsführung", "technician": "Techniker", "retired": "pensioné", "admin.": "Büro"}
    return _shown(rows, job=rows.shown["job"].replace(accents))


ORIGINALS = (
    RawFile("bank", "bank", "semicolons, quotes"),
    RawFile("beijing", "beijing", "row counter, missing targets NA"),
    RawFile("credit", "credit", "row counter, codes as numbers"),
    RawFile("diamonds", "diamonds", "unnamed row counter in quotes"),
    RawFile("house", "house", "ids, dates as 20141013T000000, numbers in quotes"),
    RawFile("shuttle", "shuttle", "no header row, classes as text"),
)
REWRITTEN = (
    RawFile("bank without header", "bank", "text columns", _same, Written(header=False), target="17"),
    RawFile("bank with ids", "bank", "uuids and people's names", _with_text_ids),
    RawFile("bank with blanks", "bank", "spaces around numbers, texts and labels", _with_blanks),
    RawFile("bank, Windows-1252", "bank", "encoding", _with_accents, Written(";", encoding="cp1252", newline="\r\n")),
    RawFile("bank, UTF-16", "bank", "encoding, tabs", _with_accents, Written("\t", encoding="utf-16", quoted=True)),
    RawFile("bank, BOM", "bank", "byte-order mark", _with_accents, Written(";", encoding="utf-8-sig")),
    RawFile("bank, sep=;", "bank", "Excel's line sep=;", _same, Written(";", before="sep=;\r\n", newline="\r\n")),
    RawFile("bank, comment", "bank", "a comment line on top", _same, Written(before="# exported 2014-05-01\n")),
    RawFile("bank, blank lines", "bank", "blank lines at the end", _same, Written(after="\n\n\n", newline="\n")),
    RawFile("house in $", "house", "$221,900.00, and 90.1%", _with_currency),
    RawFile("house, European", "house", "1.234,56 and semicolons", _european, Written(";")),
    RawFile("house, 13/10/2014", "house", "dates with the day first", _european_dates),
    RawFile("beijing, 10/13/2014 13:00", "beijing", "moments with the month first", _with_times),
    RawFile("credit, 30% unlabeled", "credit", "targets missing", _without_some_targets),
    RawFile("credit, missing", "credit", "? - null n/a NA . for missing numbers", _with_missing_marks),
    RawFile("credit, oops", "credit", "one text in a column of numbers, in row 5,501", _with_one_slip),
)
FILES = (*ORIGINALS, *REWRITTEN)


def both_parts(
    file: RawFile, folder: pathlib.Path, to: pathlib.Path, seed: int, most: int | None = None
) -> tuple[pathlib.Path, pathlib.Path, pd.DataFrame, pd.DataFrame]:
    """Files with four fifths of the rows and with the fifth that no model sees, and a person's knowledge of both."""
    lines, rows = read_published(file.published, folder)
    head = [] if PUBLISHED[file.published].names else lines[:1]
    body = lines[len(head) :][:most]
    rows = Rows(rows.shown[:most], rows.known[:most])
    random = np.random.default_rng(seed)
    unseen = np.zeros(len(body), bool)
    unseen[random.permutation(len(body))[: len(body) // 5]] = True
    if file.change is not None:
        rows = file.change(rows, random)
    paths = to / "seen.csv", to / "unseen.csv"
    for path, wanted in zip(paths, (~unseen, unseen), strict=True):
        if file.change is None:
            path.write_bytes(b"".join([*head, *(line for line, use in zip(body, wanted, strict=True) if use)]))
        else:
            write(path, rows.shown[wanted], file.written)
    return *paths, rows.known[~unseen], rows.known[unseen]

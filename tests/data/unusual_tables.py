"""One table with the oddities of real files, in every file format and every kind of frame."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

Texts = dict[str, list[str]]
MISSING = ("", "?", "-", "NA", "null", "n/a")
GOOD = ("really like this place", "friendly staff", "would come again", "great value for money")
BAD = ("was late and cold", "never again", "nobody answered my letter", "a waste of money")
ROWS = 1200


def odd_texts(rows: int = ROWS, seed: int = 0) -> Texts:
    """The columns as they are in a text file."""
    random = np.random.default_rng(seed)
    x, share, income = random.normal(50, 10, rows), random.random(rows), np.exp(random.normal(8, 1, rows))
    start = datetime(2014, 1, 1)
    days = [start + timedelta(days=int(day), minutes=int(minute)) for day, minute in random.integers(0, 720, (rows, 2))]
    city, code = random.integers(0, 5, rows), random.integers(0, 12, rows)
    smoker, active = random.random(rows) < 0.3, random.random(rows) < 0.5
    score = (x - 50) / 10 + 3 * share - np.log(income) + smoker - active + (code == 3) + [day.month / 6 for day in days]
    good = score + random.logistic(size=rows) > np.median(score)
    comment = [
        f"I {phrases[k]}, {phrases[j]}: visit {visit}."
        for visit, ((k, j), one) in enumerate(zip(random.integers(0, 4, (rows, 2)), good, strict=True))
        for phrases in [GOOD if one else BAD]
    ]
    odd: Texts = {
        "No": [str(k + 1) for k in range(rows)],
        "customer": [f"{value:08x}-{k:04x}" for k, value in enumerate(random.integers(0, 2**32, rows).tolist())],
        "size": [f"{value:.2f}" for value in x],
        "price": [f"${value:,.2f}" for value in 100 * x],
        "share": [f"{100 * value:.1f}%" for value in share],
        "income": [f"{value:,.2f}".translate(str.maketrans(",.", ".,")) for value in income],
        "temperature": [f"{value / 2:.1f}".replace(".", ",") for value in x],
        "people": [f"{int(value):,}" for value in 100 * income],
        "weight": [f"{value + 20:.1f} kg" for value in x],
        "joined": [day.strftime("%Y-%m-%d") for day in days],
        "seen": [day.strftime("%Y%m%dT000000") for day in days],
        "paid": [day.strftime("%d/%m/%Y %H:%M") for day in days],
        "comment": comment,
        "smoker": np.where(smoker, "yes", "no").tolist(),
        "active": np.where(active, "true", "false").tolist(),
        "level": [str(value) for value in random.integers(-5, 100, rows)],
        "city": np.array(["Rome", "Oslo", "Bern", "Graz", "Nice"])[city].tolist(),
        "code": [f"{value:05d}" for value in code],
        "constant": ["7"] * rows,
        "label": [("good", "good ", " good")[k % 3] if one else "bad" for k, one in enumerate(good)],
    }
    odd["size"][700] = "oops"
    for k in range(0, rows, 9):
        odd["level"][k] = MISSING[k // 9 % len(MISSING)]
    for k in range(4, rows, 50):
        odd["city"][k] = MISSING[k // 50 % len(MISSING)]
    for k in range(11, rows, 60):
        odd["label"][k] = ""
    return odd


def delimited(texts: Texts, delimiter: str = ",", quoted: bool = False) -> str:
    stream = io.StringIO()
    writer = csv.writer(
        stream, delimiter=delimiter, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL, lineterminator="\n"
    )
    writer.writerow(texts)
    writer.writerows(zip(*texts.values(), strict=True))
    return stream.getvalue()


def typed(text: str) -> Any:
    """The value in a program with numbers, booleans and missing values."""
    if text in ("true", "false"):
        return text == "true"
    if text == "":
        return None
    if re.fullmatch(r"-?(0|[1-9]\d*)", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?(0|[1-9]\d*)\.\d+", text) else text


def json_lines(texts: Texts, value: Callable[[str], Any]) -> str:
    rows = zip(*texts.values(), strict=True)
    return "".join(json.dumps(dict(zip(texts, map(value, row), strict=True))) + "\n" for row in rows)


def _strings(texts: Texts) -> pa.Table:
    return pa.table({name: pa.array([text or None for text in values]) for name, values in texts.items()})


def _written(name: str, content: Callable[[Texts], bytes]) -> Callable[[Texts, Path], Any]:
    def make(texts: Texts, folder: Path) -> str:
        path = folder / name
        path.write_bytes(content(texts))
        return str(path)

    return make


def _parquet(texts: Texts, folder: Path) -> str:
    pa.parquet.write_table(_strings(texts), folder / "odd.parquet", row_group_size=1000)
    return str(folder / "odd.parquet")


# By name: functions that turn the columns and a folder into a source of data.
WAYS: dict[str, Callable[[Texts, Path], Any]] = {
    "csv": _written("odd.csv", lambda texts: delimited(texts).encode()),
    "quoted csv": _written("quoted.csv", lambda texts: delimited(texts, ";", quoted=True).encode("utf-8-sig")),
    "tsv": _written("odd.tsv", lambda texts: delimited(texts, "\t").encode()),
    "gzip": _written("odd.csv.gz", lambda texts: gzip.compress(delimited(texts).encode())),
    "parquet": _parquet,
    "json strings": _written("strings.jsonl", lambda texts: json_lines(texts, str).encode()),
    "json values": _written("values.jsonl", lambda texts: json_lines(texts, typed).encode()),
    "pandas": lambda texts, _: pd.DataFrame(texts),
    "pandas objects": lambda texts, _: pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in texts.items()}),
    "pandas mixed": lambda texts, _: pd.DataFrame(
        {name: pd.Series([typed(text) for text in values], dtype=object) for name, values in texts.items()}
    ),
    "polars": lambda texts, _: pl.DataFrame(texts),
    "pyarrow": lambda texts, _: _strings(texts),
    "pyarrow dataset": lambda texts, _: pyarrow.dataset.dataset(_strings(texts).to_batches(500)),
}

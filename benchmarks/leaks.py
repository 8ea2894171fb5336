"""List the columns of public tables that are reported to give the target away; each report should be correct.

    python benchmarks/leaks.py

Tables of scikit-learn and River, and those in UNITLESS_DATA. In a raw file, the last column and six numeric ones are
predicted in turn; 4,000 rows of each table are used.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from data import folder_of_datasets
from river import datasets as river_datasets
from sklearn import datasets as scikit_datasets

import unitless as ul

ROWS, TARGETS, MANY = 4000, 6, 20


def tables() -> Iterator[tuple[str, pd.DataFrame, str]]:
    for name in ("iris", "wine", "breast_cancer", "diabetes", "digits"):
        yield name, getattr(scikit_datasets, f"load_{name}")(as_frame=True).frame, "target"
    for name in ("Phishing", "Bananas", "TrumpApproval", "ChickWeights", "AirlinePassengers"):
        rows = [{**{str(key): value for key, value in x.items()}, "y": y} for x, y in getattr(river_datasets, name)()]
        yield name, pd.DataFrame(rows), "y"
    folder = folder_of_datasets()
    for path in sorted(folder.glob("*.parquet")):
        yield path.stem, pd.read_parquet(path), "label"
    for path in sorted((folder / "raw").glob("*.csv.gz")):
        frame = pd.read_csv(path, sep=None, engine="python", nrows=30_000).rename(columns=str)
        numeric = [name for name in frame if frame[name].dtype.kind in "if" and frame[name].nunique() > MANY]
        for target in [frame.columns[-1], *numeric[:TARGETS]]:
            yield path.name.partition(".")[0], frame, target


def main() -> None:
    count = reported = 0
    for name, frame, target in tables():
        known = frame.dropna(subset=[target])
        result = ul.train(known.sample(min(len(known), ROWS), random_state=1), target, progress=False)
        notes = [note for note in result.notes if "almost without error" in note]
        count, reported = count + 1, reported + bool(notes)
        print(
            f"{name:20} {target:28} skill {result.skill:7.2%}  {notes[0].partition('.')[0] if notes else ''}",
            flush=True,
        )
    print(f"{reported} of {count} reported")


if __name__ == "__main__":
    main()

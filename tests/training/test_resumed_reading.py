"""A resumed model reads further data in the same way as its first data."""

from __future__ import annotations

from pathlib import Path

from sources import write

import unitless as ul


def test_reading_options_are_those_of_the_model(tmp_path: Path) -> None:
    rows = "".join(f"{k * 7 % 100};{'none yet' if k % 9 == 0 else k % 5};{k % 3}\n" for k in range(300))
    path = write(tmp_path / "a.txt", rows)
    model = str(tmp_path / "m")
    reading = ul.Reading(missing="absent", na="none yet", header=False, delimiter=";", format="csv")
    first = ul.train(path, "3", output=model, reading=reading, model_type="linear")
    assert first.details.missing == {"2": 34}
    more = ul.train(path, resume=model, reading=ul.Reading(format="csv"), output=model)
    assert more.details.missing == {"2": 34}
    assert not any("(missing)" in str(name) for name in more.model.weights)
    assert not more.invalid_values
    assert len(ul.Predictor(model).predict(path, reading=ul.Reading(format="csv"))) == 300
    assert ul.evaluate(model, path, reading=ul.Reading(format="csv")).rows == 300

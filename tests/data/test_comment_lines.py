"""Text that is not UTF-8, and lines before a table, are detected and reported: the model is that of the plain file."""

from __future__ import annotations

from pathlib import Path

import pytest
from sources import command, content, train, write

import unitless as ul

ROWS = [f"{k % 17},{('Köln', 'Bern', 'Nîmes')[k % 3]},{k % 17 * 2.5 + k % 3}" for k in range(400)]
PLAIN = "\n".join(["größe,ort,preis", *ROWS, ""])


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> ul.TrainResult:
    return train(write(tmp_path_factory.mktemp("plain") / "plain.csv", PLAIN), "preis")


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8-sig", "utf-16"])
def test_a_file_in_another_encoding_gives_the_model_of_its_text(
    encoding: str, plain: ul.TrainResult, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.csv", PLAIN.encode(encoding))
    result = train(path, "preis")
    assert content(result.model) == content(plain.model)
    assert list(plain.predict(path)) == list(result.predict(path))


def test_a_detected_encoding_is_reported(tmp_path: Path) -> None:
    path, model = write(tmp_path / "a.csv", PLAIN.encode("cp1252")), str(tmp_path / "m.unitless")
    run = command("train", path, "--target", "preis", "--model-type", "linear", "--output", model)
    assert "the text is not UTF-8 and was read as windows-1252 (--encoding NAME)" in run.stdout
    assert command("evaluate", model, path).returncode == 0


def test_text_that_is_no_encoding_is_refused(tmp_path: Path) -> None:
    data = PLAIN.encode().replace(b"Bern", b"B\x81\xff")  # no letter of Windows-1252 has this byte
    with pytest.raises(ul.InputError, match="not valid UTF-8; if it has another encoding, name it"):
        ul.train(write(tmp_path / "a.csv", data), "preis")


def test_comment_lines_before_a_table_are_skipped_and_reported(plain: ul.TrainResult, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "# exported on Monday, by the logger\n# site: A\n" + PLAIN)
    assert content(train(path, "preis").model) == content(plain.model)
    run = command("train", path, "--target", "preis", "--model-type", "linear")
    assert "2 comment lines (#) before the table: skipped" in run.stdout


def test_a_row_of_names_that_begins_with_a_number_sign_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "# a comment\n" + PLAIN.replace("größe", "#größe", 1))
    assert "#größe" in train(path, "preis").model.weights

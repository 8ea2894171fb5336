"""What the quick reader of `unitless train`'s arguments takes, it takes as the command itself does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from unitless.cli import main, quick, train
from unitless.cli.app import app

VALUES = {bool: "", int: " 7", float: " 0.25", str: " a,b"}


@pytest.mark.parametrize(
    "words",
    [
        "train a.csv b.csv --target y",
        "train - --format=csv -t y --rate 0.5 --no-centre --json",
        "train a.csv --ignore id --ignore x,y --only z -b 18 --holdout .25 --quantile 0.5 --passes 2",
        "train a.vw -q -m out.unitless --checkpoint 1000 --seed 3 --metrics auc",
        *(f"train a.csv {word}{VALUES[option.kind]}" for word, option in quick.NAMES.items()),
    ],
)
def test_it_reads_what_typer_reads(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    monkeypatch.setattr(train, "carry_out", lambda given: read.append(dict(given)) or 0)
    app(words.split(), standalone_mode=False)
    assert [quick.read(words.split())] == read


@pytest.mark.parametrize(
    "words",
    [
        "",
        "predict a.csv",
        "train",
        "train --help",
        "train a.csv --no-such-option",
        "train a.csv --rate",
        "train a.csv --seed two",
        "train a.csv --bits -1",
        "train a.csv --json=yes",
        "train a.csv --target y --target z",
        "train a.csv -qm out",
        "train -- a.csv",
        "train a.csv --tar y",
    ],
)
def test_it_leaves_the_rest_to_others(words: str) -> None:
    assert quick.read(words.split()) is None


def test_plain_training_needs_no_library_for_command_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.vw"
    path.write_text("1 | a:1\n-1 | a:2\n" * 20)
    script = (
        "import sys\n"
        "sys.modules['typer'] = sys.modules['rich'] = sys.modules['pyarrow'] = None\n"
        "from unitless.cli import main\n"
        f"sys.exit(main(['train', {str(path)!r}, '--json']))"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode == 0


def test_errors_are_told_in_the_command_lines_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "no-such-file.csv"]) == 1
    assert capsys.readouterr().err == "unitless: there is no file 'no-such-file.csv'\n"
    assert main(["train", __file__, "--checkpoint", "10"]) == 2
    assert capsys.readouterr().err == "unitless: --checkpoint needs --model; it says where to save the model\n"

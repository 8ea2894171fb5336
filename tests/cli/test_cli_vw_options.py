"""A command with Vowpal Wabbit's options is answered with the same in our words."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from unitless.cli import main
from unitless.cli.commands import COMMANDS
from unitless.cli.vw_answer import answer
from unitless.cli.vw_options import OPTIONS

FIRST = "these are options of Vowpal Wabbit; here they are:\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("train a.vw -q ab", "  -q ab  --interactions ab\nThe command: unitless train a.vw --interactions ab"),
        (
            "train a.vw -qab -q c: --quadratic ::",
            "  -q ab           --interactions ab\n"
            "  -q c:           --interactions c:\n"
            "  --quadratic ::  --interactions 2\n"
            "The command: unitless train a.vw --interactions 2",
        ),
        (
            "train -d a.vw --oaa 7 --passes 5 --cache_file c -k -c -b 20 -f m",
            "  -d a.vw         a.vw; files stand without an option\n"
            "  --oaa 7         nothing: more than two labels mean several classes\n"
            "  --cache_file c  nothing: passes need no cache\n"
            "  -k              nothing: there is no cache to remove\n"
            "  -c              nothing: passes need no cache\n"
            "  -f m            --model m\n"
            "The command: unitless train a.vw --passes 5 -b 20 --model m",
        ),
        (
            "train a.vw --l1 1e-6 --l2=0 --loss_function=logistic -l0.5",
            "  --l1 1e-6                 --sparsity auto; a penalty without a unit; 1 is a good value\n"
            "  --loss_function logistic  --loss logistic; found by the labels if it is not given\n"
            "  -l 0.5                    --rate 0.5; usually it is better to leave it out\n"
            "The command: unitless train a.vw --sparsity auto --l2 0 --loss logistic --rate 0.5",
        ),
        (
            "train a.vw -q ab -q c:",
            "  -q ab  --interactions ab\n"
            "  -q c:  --interactions c:\n"
            "The command: unitless train a.vw --interactions ab,c:",
        ),
        (
            "train -t -i m -d new.vw -p out.csv --link logistic --quiet",
            "  -t               unitless predict, with the model before the data\n"
            "  -i m             the model stands before the data; a model of Vowpal Wabbit becomes one of unitless "
            "with: unitless convert\n"
            "  -d new.vw        new.vw; files stand without an option\n"
            "  -p out.csv       --output out.csv; of unitless predict\n"
            "  --link logistic  --probabilities; of unitless predict\n"
            "The command: unitless predict m new.vw --output out.csv --probabilities --quiet",
        ),
        (
            "predict m new.vw --testonly -r out.csv",
            "  --testonly  unitless predict, with the model before the data\n"
            "  -r out.csv  --scores --output out.csv; of unitless predict\n"
            "The command: unitless predict m new.vw --scores --output out.csv",
        ),
        (
            "train a.vw -i old -f new --save_resume",
            "  -i old         --resume old; a model of Vowpal Wabbit becomes one of unitless with: unitless convert\n"
            "  -f new         --model new\n"
            "  --save_resume  nothing: every model can be continued\n"
            "The command: unitless train a.vw --resume old --model new",
        ),
        (
            "sweep a.vw --cb 4 --epsilon 0.1",
            "  --cb 4         contextual bandits are not available\n"
            "  --epsilon 0.1  contextual bandits are not available\n"
            "There is no command here that does this.",
        ),
        (
            "train a.vw --adaptive --invariant",
            "  --adaptive   nothing for all three, the default; --adaptive alone is --rule ag, --normalized alone "
            "--rule ng\n"
            "  --invariant  nothing for all three, the default; --adaptive alone is --rule ag, --normalized alone "
            "--rule ng\n"
            "The command: unitless train a.vw --rule ag",
        ),
        ("train a.vw --sgd", "  --sgd  --rule gd\nThe command: unitless train a.vw --rule gd"),
        ("train a.vw --keep a", "  --keep a  --only a\nThe command: unitless train a.vw --only a"),
        (
            "train a.vw --noconstant --ignore a",
            "  --noconstant  --no-bias; predicted numbers keep the offset of their labels\n"
            "The command: unitless train a.vw --no-bias --ignore a",
        ),
        (
            "train a.vw --cubic abc --ngram 2",
            "  --cubic abc  products of three are not available; --shape trees finds them\n"
            "  --ngram 2    not available for VW text\n"
            "The command without --cubic abc, --ngram 2: unitless train a.vw",
        ),
        (
            "train a.vw --power_t 0",
            "  --power_t 0  not available with this value; rates fall with the power 0.5 by themselves\n"
            "The command without --power_t 0: unitless train a.vw",
        ),
        (
            "train a.vw --power_t 0.5",
            "  --power_t 0.5  rates fall with the power 0.5 by themselves\nThe command: unitless train a.vw",
        ),
        (
            "train a.csv -t price --holdout_period 5 --holdout_off",
            "  --holdout_period 5  --holdout 0.2; the fraction of rows that is held back\n"
            "  --holdout_off       --holdout 0\n"
            "The command: unitless train a.csv -t price --holdout 0",
        ),
        (
            "train a.vw -p out.csv --quantile_tau 0.9",
            "  -p out.csv          --output out.csv; of unitless predict\n"
            "  --quantile_tau 0.9  --quantile 0.9\n"
            "The command without -p out.csv: unitless train a.vw --quantile 0.9",
        ),
        ("vw -d a.vw", "  -d a.vw  a.vw; files stand without an option\nThe command: unitless train a.vw"),
        (
            "-d a.vw --readable_model r.txt",
            "  -d a.vw                 a.vw; files stand without an option\n"
            "  --readable_model r.txt  unitless inspect MODEL --all, or unitless convert MODEL weights.json\n"
            "The command: unitless train a.vw",
        ),
        (
            "train a.vw --total 4 --node 0 --span_server host",
            "  --total 4           --on local --workers 4; --on says on what: local, ray, dask or spark\n"
            "  --node 0            nothing: one command deals the rows to all workers, --on local, ray, dask or spark\n"
            "  --span_server host  nothing: one command deals the rows to all workers, --on local, ray, dask or spark\n"
            "The command: unitless train a.vw --on local --workers 4",
        ),
        (
            "train a.vw --daemon",
            "  --daemon  a command of its own: unitless serve --data FOLDER --vw-port PORT\n"
            "The command without --daemon: unitless train a.vw",
        ),
    ],
)
def test_the_command_is_said_in_our_words(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    assert capsys.readouterr().err == f"unitless: {FIRST}{said}\n"


def test_two_letters_after_quiet_may_be_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ab").write_text("1 | a:1\n-1 | a:2\n" * 20)
    assert main(["train", "-q", "ab"]) == 0
    assert answer(["train", "-q", "ab"]) is None


@pytest.mark.parametrize(
    "words",
    ["", "train", "train a.vw -q", "train a.vw -q -b 18", "train a.csv -t", "predict m a.vw -p", "inspect m --audit"],
)
def test_our_own_commands_are_left_alone(words: str) -> None:
    assert answer(words.split()) is None


def test_every_answer_names_options_that_there_are() -> None:
    known = {name for command in COMMANDS for option in command.OPTIONS for name in option.names}
    theirs = {name for option in OPTIONS for name in option.names}
    for option in OPTIONS:
        for name in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", f"{option.words(option.value) or ''} {option.note}"):
            assert name in known | theirs, option.names
    assert len(theirs) == sum(len(option.names) for option in OPTIONS), "a name has two answers"


def test_the_commands_that_are_said_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "a.vw"
    path.write_text("1 |a x:1 |b y\n-1 |a x:2 |b z\n" * 20)
    given = f"train {path} -q ab --noconstant --sgd --keep a,b --holdout_period 4 --random_seed 3 -l 0.1 --passes 1"
    said = answer(given.split())
    assert said is not None
    assert main(shlex.split(said.rpartition("The command: unitless ")[2])) == 0

"""All facts about a loss or a rule are in its record, and nowhere else."""

import ast
import pathlib
from typing import get_args

import numpy as np
import pytest

import unitless as ul
from unitless.losses import DEFAULTS, LOSSES, ClassLoss, LossName, ManyClassesLoss, NumberLoss, names
from unitless.paper import algorithms as reference
from unitless.presentation.shown import listed
from unitless.rules import FIRST_ORDER, RULES, RuleName, like

SOURCE = pathlib.Path(ul.__file__).parent
OF_ONE_SCORE = names(of_one_class=None)


def test_the_types_name_the_losses_that_have_records() -> None:
    assert {*LOSSES} == {*get_args(LossName)}
    assert {*names(task="regression")} == {*get_args(NumberLoss)}
    assert {*names(task="binary")} == {*get_args(ClassLoss)}
    assert {*names(task="classes")} == {*names(coupled=True)} == {*get_args(ManyClassesLoss)}
    assert {*DEFAULTS.values()} <= {*LOSSES}


def test_the_types_name_the_rules_that_have_records() -> None:
    assert tuple(RULES) == get_args(RuleName)


@pytest.mark.parametrize("name", OF_ONE_SCORE)
def test_the_core_and_the_reference_have_every_loss(name: str) -> None:
    loss = LOSSES[name]
    labels = [0.0, 1.0] if loss.smallest_label == 0 else [-1.0, 1.0]
    learner = ul.Learner(loss=name)  # type: ignore[arg-type]
    learner.learn([[1.0], [2.0]], labels)
    oracle = getattr(reference, name.capitalize())()
    p = np.array([-0.5, 0.25])
    np.testing.assert_allclose(
        learner.losses(p, labels), [oracle.value(*pair) for pair in zip(p, labels, strict=True)], rtol=1e-12
    )


@pytest.mark.parametrize("name", OF_ONE_SCORE)
def test_the_smallest_label_is_what_the_core_accepts(name: str) -> None:
    learner = ul.Learner(loss=name)  # type: ignore[arg-type]
    if LOSSES[name].smallest_label == 0:
        with pytest.raises(ul.InputError):
            learner.learn([[1.0]], [-1.0])
    else:
        learner.learn([[1.0]], [-1.0])


@pytest.mark.parametrize("name", FIRST_ORDER)  # the other: tests/models/test_second_order.py
def test_the_core_and_the_reference_have_every_rule(name: str) -> None:
    rule = RULES[name]
    X, y = [[3.0], [-5.0], [4.0]], [1.0, 2.0, 0.5]
    learner = ul.Learner(name, bias=False)  # type: ignore[arg-type]
    oracle = getattr(reference, rule.paper.upper())()
    np.testing.assert_allclose(learner.learn(X, y), reference.run(oracle, X, y, bias=False), rtol=1e-9)
    expected = np.sqrt(50 / 3) if rule.sums_squares else 5.0
    np.testing.assert_allclose(learner.scales[0], expected)


@pytest.mark.parametrize("name", RULES)
def test_unit_free_rules_and_no_others_do_not_see_the_unit(name: str) -> None:
    X, y = np.array([[3.0], [-5.0], [4.0]]), [1.0, 2.0, 0.5]
    plain, scaled = (ul.Learner(name).learn(X * factor, y) for factor in (1.0, 2.0**20))  # type: ignore[arg-type]
    assert (plain.tolist() == scaled.tolist()) == RULES[name].unit_free


def test_vowpal_wabbit_has_four_of_the_rules() -> None:
    found = [like(unit_free=u, adaptive=a).name for u in (True, False) for a in (True, False)]
    assert found == ["nag", "ng", "ag", "gd"]


def test_names_in_messages() -> None:
    assert listed(["a"]) == "'a'"
    assert listed(["a", "b"], "and") == "'a' and 'b'"
    assert listed(["a", "b", "c"]) == "'a', 'b' or 'c'"
    assert listed(["a", "b", "c"], "and", written=str) == "a, b and c"


def test_no_code_compares_the_names_of_losses_or_rules() -> None:
    """A fact that code needs belongs in the record. The folder `paper` may name those that it studies."""
    known = {*LOSSES, *RULES}
    for path in SOURCE.rglob("*.py"):
        if path.name in ("losses.py", "rules.py") or "paper" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                named = {constant.value for constant in ast.walk(node) if isinstance(constant, ast.Constant)} & known
                assert not named, f"{path}, line {node.lineno}: compares {named}"

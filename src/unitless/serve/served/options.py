"""The options of a new model, and the defaults of models that learn a stream."""

from __future__ import annotations

from typing import Any

from ...errors import InputError, OptionError
from ...losses import LOSSES
from ...models.classes import Classes, Label
from ...models.learner import Learner
from ...models.one_vs_all import OneVsAll
from ...models.training_record import LARGEST
from ...options import check_names
from ...training.defaults import DataFacts, new_model, resolve

TASKS = ("regression", "binary", "classes")
MISSING = ("indicator", "absent", "error")
_OWN = ("task", "classes", "missing", "text")  # all other options are those of `Learner`


class ModelRequest:
    """The checked options of a new model. The first label decides what they leave open.

    Args:
        given: "task", "classes", "missing", "text" (columns whose texts are categories, whatever they look like), and
            options of `Learner` by name.
    """

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = dict(given)
        self.missing = given.get("missing", MISSING[0])
        self.task, self.classes, self.loss = given.get("task"), given.get("classes"), given.get("loss")
        self.text = given.get("text", [])
        if not isinstance(self.text, list) or not all(isinstance(name, str) for name in self.text):
            raise OptionError(f"is {self.text!r}; it must be a list of names of columns", option="text")
        self._learner = {name: value for name, value in given.items() if name not in (*_OWN, "loss")}
        check_names(self._learner)
        _one_of("missing", self.missing, MISSING)
        _one_of("task", self.task, (*TASKS, None))
        _one_of("loss", self.loss, (*LOSSES, None))
        if self.classes is not None:
            known = Classes(self.classes, open=False).labels
            if any(isinstance(label, int) and not -LARGEST <= label < LARGEST for label in known):
                raise OptionError("has a whole number of more than 64 bits", option="classes", advice="make it text")
            if len(known) < 2:
                raise OptionError("must be at least two, or left out", option="classes")
            self.task = self.task or ("binary" if len(known) == 2 else "classes")
            if self.task == "regression" or (self.task == "binary" and len(known) > 2):
                raise OptionError(f"are {len(known)}, which a task of {self.task!r} does not have", option="classes")
            self.classes = known
        if self.loss is not None and self.task is None:
            self.task = "classes" if LOSSES[self.loss].coupled else None
            self.task = "regression" if not LOSSES[self.loss].for_classes else self.task
        self.bytes = 0
        for task in TASKS if self.task is None else (self.task,):
            if self.task is not None or self.loss is None or self._fits(task):
                self.bytes = max(self.bytes, self.model(task, self.classes).nbytes)

    def _fits(self, task: str) -> bool:
        return self.loss is None or LOSSES[self.loss].for_classes == (task != "regression")

    def settle(self, label: Any) -> tuple[str, list[Label] | None]:
        """The task and, for two classes, their labels (the negative one first), given the first label."""
        task = self.task
        if task is None:
            task = "classes" if isinstance(label, str) else "binary" if isinstance(label, bool) else "regression"
            if task == "regression" and self.loss is not None:  # a loss for classes, such as logistic
                task = "binary" if label in (-1, 0, 1) else "classes"
        if task != "binary":
            return task, self.classes
        if self.classes is not None:
            return task, self.classes
        if isinstance(label, bool):
            return task, [False, True]
        if isinstance(label, str):
            raise InputError(f"the label is {label!r}", advice="two classes of text are named beforehand, in classes")
        return task, [-1 if label == -1 else 0, 1]

    def model(self, task: str, classes: list[Label] | None) -> Learner | OneVsAll:
        """Make a new model."""
        given = {**self._learner, "loss": self.loss}
        options = resolve(task, DataFacts(), given)
        return new_model(options, task, classes)


def _one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        choices = ", ".join(repr(choice) for choice in allowed if choice is not None)
        raise OptionError(f"is {value!r}; it must be one of {choices}", option=name)

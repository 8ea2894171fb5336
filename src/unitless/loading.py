"""`load`: models and bandits from their files."""

from __future__ import annotations

import os
from typing import Any

from .bandit import state
from .bandit.learning import Bandit
from .models import file as model_file


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model or a bandit. The file is fully checked; a damaged one raises a `ModelFileError`.

    Args:
        path: the file, as `Learner.save`, `TrainResult.save`, `Predictor.save`, `Bandit.save` or
            `train(..., output=path)` wrote it.

    Returns:
        A `Learner`, `OneVsAll`, `Softmax` or `Sweep` that predicts exactly as the saved one. It can learn more rows,
        unless `Predictor.save` wrote the file. Or a `Bandit`, which continues as if it had never been saved.

    Example:
        >>> import unitless as ul, tempfile, os
        >>> m = ul.Learner()
        >>> _ = m.learn([[1.0], [2.0]], [1.0, 2.0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     m.save(os.path.join(folder, "model.unitless"))
        ...     same = ul.load(os.path.join(folder, "model.unitless"))
        >>> same.weights == m.weights
        True
    """
    return Bandit.load(path) if state.is_bandit(path) else model_file.load(path)

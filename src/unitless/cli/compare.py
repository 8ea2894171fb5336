"""unitless compare: several update rules on the same rows."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..rules import FIRST_ORDER, RULES
from . import arguments, display, options
from .options import LEARNING, Flag
from .side_by_side import learned_together

NAME = "compare"
EXAMPLES = """
[bold]Examples[/]

unitless compare prices.csv --target price

unitless compare 'logs/*.parquet' --target clicked --rules nag,ag,gd --plot learners.png

unitless compare prices.csv --target price --holdout 0.2 --json > learners.json
"""
_PLAN = (
    *options.ORDER,
    Flag("passes", "How often to go through the data.", int, 1, panel=LEARNING),
    Flag("holdout", "The fraction of rows that are held out, from 0 to 1.", float, 0.0, panel=LEARNING),
)
OPTIONS = (
    options.DATA,
    options.TARGET,
    options.rules_flag(RULES, FIRST_ORDER),
    options.LEARNING_RATE,
    Flag(
        "judged_by",
        "Metric used for ranking: error_rate or loss. Default: error_rate for classes, loss for numbers.",
        panel=LEARNING,
    ),
    *options.MODEL_TYPE,
    options.ENSEMBLE,
    *options.MODEL,
    *_PLAN,
    options.WEIGHT,
    *options.COLUMNS,
    options.LEVEL,
    options.PLOT,
    options.JSON,
    options.QUIET,
)


def command(**given: Any) -> int:
    """Compare update rules: all of them learn the same rows, and the data is read once.

    Every row is predicted before it is learned, so all metrics are out of sample. A rule that diverges is
    stopped. A paired test decides which rule is better: it computes a confidence interval of the difference
    between two rules on the same rows.
    """
    from ..training.compare import RULES as USUAL  # noqa: PLC0415
    from ..training.compare import compare  # noqa: PLC0415
    from ..training.side_by_side import comparison_sections  # noqa: PLC0415

    of_model = (*options.MODEL_TYPE, options.ENSEMBLE, *options.MODEL, *_PLAN, options.WEIGHT, options.LEVEL)
    learn = partial(
        compare,
        rules=arguments.listed(given["rules"]) or USUAL,
        learning_rate=arguments.rate(given["learning_rate"]) or "auto",
        judged_by=given["judged_by"],
        **arguments.passed_on(given, of_model),
    )
    diverged = "every learner diverged; look for extremely large values, or give a smaller rate"
    return learned_together(given, display.Board, learn, comparison_sections, diverged)

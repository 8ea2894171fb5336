"""Vowpal Wabbit's options, and what to write here instead: one record for each.

From the records follow the answer to a command that has such options (vw_answer.py) and the page of them in the
documentation (tools/vw_options_page.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class VwOption:
    """An option of Vowpal Wabbit, or several with the same answer.

    Args:
        names: all ways to write it.
        note: what to know about it, in words.
        here: what to write here, where {} stands for its value; a function of the value where that is not enough, which
            gives None for values that there is no equivalent for. "" if nothing is needed.
        value: what its value is, for the page of all options; an example where `here` is a function. "" if it has none.
        missing: there is nothing like it: the command without it does something else.
        other: it makes another kind of learning, which there is not at all: no command does nearly the same.
    """

    names: tuple[str, ...]
    note: str = ""
    here: str | Callable[[str], str | None] = ""
    value: str = ""
    missing: bool = False
    other: bool = False

    def words(self, value: str) -> str | None:
        """What to write here; None if there is nothing."""
        if self.missing or self.other:
            return None
        return self.here(value) if callable(self.here) else self.here.replace("{}", value)


def _products(value: str) -> str | None:
    if value == "::":
        return "--interactions 2"
    return f"--interactions {value}" if len(value) == 2 else None


def _loss(value: str) -> str | None:
    same = ("squared", "logistic", "hinge", "quantile", "poisson")
    return f"--loss {value}" if value in same else "--loss squared" if value == "classic" else None


def _sparsity(penalty: str) -> str | None:
    try:
        return "--sparsity auto" if float(penalty) != 0 else ""
    except ValueError:
        return None


def _held_back(period: str) -> str | None:
    return f"--holdout {1 / int(period):.3g}" if period.isdecimal() and int(period) > 1 else None


def _falling(power: str) -> str | None:
    try:
        return "" if float(power) == 0.5 else None
    except ValueError:
        return None


_LINKS = {"logistic": "--probabilities", "identity": "", "poisson": ""}


def _link(name: str) -> str | None:
    return _LINKS.get(name)


OPTIONS = (
    # data
    VwOption(("-d", "--data"), "files stand without an option", "{}", "FILE"),
    VwOption(("-c", "--cache"), "nothing: passes need no cache"),
    VwOption(("--cache_file",), "nothing: passes need no cache", "", "FILE"),
    VwOption(("-k", "--kill_cache"), "nothing: there is no cache to remove"),
    VwOption(("--compressed",), "nothing: compressed files are recognised"),
    VwOption(("--csv",), "nothing: CSV is recognised; --target names the column of labels"),
    VwOption(("--csv_separator",), "", "--delimiter {}", "LETTER"),
    VwOption(("--csv_no_file_header",), "", "--no-header"),
    VwOption(("--csv_header", "--csv_ns_value"), "not available; change the header row", value="...", missing=True),
    VwOption(("--flatbuffer",), "not available; convert the data to VW text", missing=True),
    VwOption(("--dsjson",), "contextual bandits are not available", other=True),
    VwOption(("--strict_parse",), "nothing: bad lines are errors; --on-error skip counts them"),
    VwOption(("--no_stdin",), "nothing: the standard input is read only as -"),
    VwOption(
        ("--examples",),
        "not available; take the first lines before, with head -n",
        value="COUNT",
        missing=True,
    ),
    VwOption(("--ring_size", "--example_queue_limit"), "nothing: memory is bounded", "", "COUNT"),
    # features
    VwOption(("-q", "--quadratic"), "", _products, "ab"),
    VwOption(("--cubic",), "products of three are not available; --shape trees finds them", value="abc", missing=True),
    VwOption(("--ignore",), "the same", "--ignore {}", "a"),
    VwOption(("--keep",), "", "--only {}", "a"),
    VwOption(("--ignore_linear",), "not available: products come beside their features", value="a", missing=True),
    VwOption(("--noconstant",), "predicted numbers keep the offset of their labels", "--no-bias"),
    VwOption(
        ("--ngram",),
        "not available for VW text",
        value="N",
        missing=True,
    ),
    VwOption(("--skips",), "not available for VW text", value="N", missing=True),
    VwOption(
        ("--affix", "--spelling", "--dictionary", "--dictionary_path", "--feature_limit", "--redefine"),
        "not available; make such features before",
        value="...",
        missing=True,
    ),
    VwOption(("-b", "--bit_precision"), "without it names are stored and do not collide", "--bits {}", "BITS"),
    VwOption(("--hash",), "nothing: names do not collide, unless you give --bits", "", "HOW"),
    VwOption(("--hash_seed",), "nothing: names do not collide, unless you give --bits", "", "SEED"),
    VwOption(("--permutations",), "not available; --interactions ordered makes both orders of all pairs", missing=True),
    VwOption(("--leave_duplicate_interactions", "--sort_features"), "nothing: every product is there once"),
    VwOption(("--sparse_weights",), "nothing: only features that occur take memory"),
    # learning
    VwOption(("-l", "--learning_rate"), "usually it is better to leave it out", "--rate {}", "RATE"),
    VwOption(("--loss_function",), "found by the labels if it is not given", _loss, "logistic"),
    VwOption(("--quantile_tau",), "", "--quantile {}", "TAU"),
    VwOption(("--expectile_q",), "not available; --loss quantile is near", value="Q", missing=True),
    VwOption(
        ("--logistic_min", "--logistic_max"), "not available; two labels are recognised", value="LABEL", missing=True
    ),
    VwOption(
        ("--adaptive", "--normalized", "--invariant"),
        "nothing for all three, the default; --adaptive alone is --rule ag, --normalized alone --rule ng",
    ),
    VwOption(("--sgd",), "", "--rule gd"),
    VwOption(("--power_t",), "rates fall with the power 0.5 by themselves", _falling, "0.5"),
    VwOption(("--initial_t",), "nothing: it would make learning depend on units", "", "T"),
    VwOption(("--decay_learning_rate",), "nothing: rates adapt by themselves", "", "FACTOR"),
    VwOption(("--l1",), "a penalty without a unit; 1 is a good value", _sparsity, "1e-6"),
    VwOption(("--l2",), "a penalty without a unit; 1 is a weak one", "--l2 {}", "LAMBDA"),
    VwOption(("--no_bias_regularization",), "nothing: the bias has no penalty"),
    VwOption(("--ftrl",), "FTRL-Proximal without units; without --l1, leave it out", "--sparsity auto"),
    VwOption(("--pistol", "--coin", "--freegrad"), "not available; the default needs no rate either", missing=True),
    VwOption(("--ftrl_alpha", "--ftrl_beta"), "nothing: the rate is found", "", "NUMBER"),
    VwOption(
        ("--bfgs", "--conjugate_gradient", "--OjaNewton"),
        "not available; --rule newton is of second order, and learns from one row after the other",
        missing=True,
    ),
    VwOption(("--mem", "--termination"), "nothing: it belongs to --bfgs", "", "NUMBER"),
    VwOption(("--nn", "--boosting"), "which learns what is not linear", "--shape trees", "COUNT"),
    VwOption(("--ksvm", "--stage_poly"), "which learns what is not linear", "--shape trees"),
    VwOption(
        ("--autolink", "--lrq", "--lrqfa"), "not available; --shape trees finds products", value="N", missing=True
    ),
    VwOption(("--bootstrap",), "not available; score gives confidence intervals", value="COUNT", missing=True),
    VwOption(("--random_seed",), "", "--seed {}", "SEED"),
    VwOption(
        ("--initial_weight", "--feature_mask", "--input_feature_regularizer"),
        "not available",
        value="...",
        missing=True,
    ),
    VwOption(("--random_weights", "--normal_weights"), "nothing: linear models need no random beginning"),
    # passes
    VwOption(("--passes",), "the same", "--passes {}", "COUNT"),
    VwOption(("--holdout_off",), "", "--holdout 0"),
    VwOption(("--holdout_period",), "the fraction of rows that is held back", _held_back, "10"),
    VwOption(("--holdout_after",), "the last tenth is held back", "--no-shuffle --holdout last", "COUNT"),
    VwOption(("--early_terminate",), "nothing: passes go on until they help no more", "", "PASSES"),
    VwOption(("--save_per_pass",), "not available; --checkpoint ROWS saves on the way", missing=True),
    # kinds of labels
    VwOption(("--oaa",), "nothing: more than two labels mean several classes", "", "CLASSES"),
    VwOption(("--ect", "--log_multi", "--recall_tree"), "one model for each class", "--task classes", "CLASSES"),
    VwOption(("--oaa_subsample",), "nothing: all classes learn from each row", "", "COUNT"),
    VwOption(("--named_labels",), "nothing for tables, where labels may be text", "", "NAMES"),
    VwOption(("--indexing",), "nothing: labels are taken as they are", "", "0|1"),
    VwOption(("--binary",), "", "--task binary"),
    VwOption(("--classweight",), "not available; write the weights into the data", value="LABEL:WEIGHT", missing=True),
    VwOption(
        ("--csoaa", "--csoaa_ldf", "--wap_ldf", "--multilabel_oaa", "--plt"),
        "labels with costs, or several of them, are not available",
        value="...",
        other=True,
    ),
    VwOption(("--lda",), "topic models are not available", value="TOPICS", other=True),
    VwOption(("--rank", "--new_mf"), "matrix factorization is not available", value="RANK", other=True),
    VwOption(("--search", "--search_task"), "learning to search is not available", value="...", other=True),
    VwOption(
        ("--active", "--active_cover", "--simulation", "--cs_active"), "active learning is not available", other=True
    ),
    VwOption(
        (
            *("--cb_adf", "--cb_explore_adf", "--ccb_explore_adf", "--slates", "--squarecb", "--regcb", "--regcbopt"),
            *("--softmax", "--synthcover", "--large_action_space", "--experimental_igl"),
        ),
        "contextual bandits are not available",
        other=True,
    ),
    VwOption(
        (
            *("--cb", "--cb_explore", "--cbify", "--cb_type", "--cats", "--cats_pdf", "--automl"),
            *("--epsilon", "--bag", "--cover", "--first", "--rnd"),
        ),
        "contextual bandits are not available",
        value="...",
        other=True,
    ),
    # models and predictions
    VwOption(("-f", "--final_regressor"), "", "--model {}", "MODEL"),
    VwOption(
        ("-i", "--initial_regressor"),
        "a model of Vowpal Wabbit becomes one of unitless with: unitless convert",
        "--resume {}",
        "MODEL",
    ),
    VwOption(("-t", "--testonly"), "unitless predict, with the model before the data"),
    VwOption(("-p", "--predictions"), "of unitless predict", "--output {}", "FILE"),
    VwOption(("-r", "--raw_predictions"), "of unitless predict", "--scores --output {}", "FILE"),
    VwOption(("--link",), "of unitless predict", _link, "logistic"),
    VwOption(("--probabilities",), "of unitless predict", "--probabilities"),
    VwOption(("--scores",), "of unitless predict", "--scores"),
    VwOption(
        ("--min_prediction", "--max_prediction"),
        "nothing: predicted numbers stay within the range of the labels",
        "",
        "NUMBER",
    ),
    VwOption(("--save_resume", "--preserve_performance_counters"), "nothing: every model can be continued"),
    VwOption(("--predict_only_model",), "nothing: every model can be continued"),
    VwOption(("-a", "--audit"), "unitless inspect MODEL --data FILE --row N explains one prediction"),
    VwOption(
        ("--readable_model", "--invert_hash", "--audit_regressor"),
        "unitless inspect MODEL --all, or unitless convert MODEL weights.json",
        "",
        "FILE",
    ),
    VwOption(("--id",), "not available", value="TEXT", missing=True),
    # where it runs, what it prints
    VwOption(
        ("--span_server", "--unique_id", "--node", "--span_server_port"),
        "nothing: one command deals the rows to all workers, --on local, ray, dask or spark",
        "",
        "...",
    ),
    VwOption(("--total",), "--on says on what: local, ray, dask or spark", "--on local --workers {}", "NODES"),
    VwOption(
        ("--daemon", "--foreground"), "a command of its own: unitless serve --data FOLDER --vw-port PORT", missing=True
    ),
    VwOption(("--port",), "unitless serve --data FOLDER --vw-port PORT", value="PORT", missing=True),
    VwOption(
        ("--num_children", "--pid_file", "--port_file"), "not needed by unitless serve", value="...", missing=True
    ),
    VwOption(("--quiet",), "the same", "--quiet"),
    VwOption(("--driver_output_off", "--dont_output_best_constant"), "", "--quiet"),
    VwOption(("-P", "--progress"), "nothing: progress is shown at powers of two", "", "COUNT"),
    VwOption(("--log_level", "--log_output", "--driver_output", "--limit_output"), "nothing", "", "..."),
    VwOption(("--extra_metrics",), "--json prints all metrics", "--json", "FILE"),
)

BY_NAME = {name: option for option in OPTIONS for name in option.names}

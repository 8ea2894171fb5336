"""Which team should answer this message?

Takeaway: a column of words needs no vectorizer, and the words that decided can be shown.

python examples/gallery/text.py      (pip install 'unitless[plot,sklearn]' pandas)
"""

# %% [markdown]
# Messages are to be sent to the team that knows the answer. The texts here are real, and on every machine that has
# the scientific Python libraries: sentences of the documentation of NumPy, pandas, scikit-learn and matplotlib, of
# the versions that are installed. The team is the library that a sentence comes from; names of libraries are cut out,
# so that the answer is not in the text.

# %%
import inspect
import re
import sys
import types

import matplotlib.axes
import matplotlib.figure
import numpy as np
import pandas as pd
import sklearn
import sklearn.ensemble
import sklearn.linear_model
import sklearn.metrics
import sklearn.model_selection
import sklearn.preprocessing
from matplotlib import pyplot as plt

import unitless as ul

TEAMS: dict[str, list[object]] = {
    "arrays": [np, np.ndarray, np.linalg, np.random.Generator],
    "tables": [pd, pd.DataFrame, pd.Series, pd.Index],
    "models": [
        sklearn.ensemble,
        sklearn.linear_model,
        sklearn.metrics,
        sklearn.model_selection,
        sklearn.preprocessing,
    ],
    "pictures": [plt, matplotlib.axes.Axes, matplotlib.figure.Figure],
}
NAMES = re.compile(r"numpy|pandas|sklearn|scikit-learn|matplotlib|\bnp\b|\bpd\b|\bplt\b", re.IGNORECASE)


def sentences(home: object) -> set[str]:
    """What the documentation of everything public in a module or class says, sentence by sentence."""
    found: set[str] = set()
    for name in dir(home):
        if name.startswith("_") or isinstance(getattr(home, name, None), types.ModuleType):
            continue
        text = inspect.getdoc(getattr(home, name, None)) or ""
        text = re.sub(r"^.*>>>.*$|^\s*\.\. .*$|[-=~]{3,}|[`*]", " ", text, flags=re.MULTILINE)
        for sentence in re.split(r"(?<=[.?!])\s|\n\s*\n", NAMES.sub(" ", text)):
            words = sentence.split()
            if 6 <= len(words) <= 60:
                found.add(" ".join(words))
    return found


by_team = {team: set().union(*map(sentences, homes)) for team, homes in TEAMS.items()}
messages = pd.DataFrame(
    [(text, team) for team, texts in by_team.items() for text in sorted(texts)], columns=["message", "team"]
)
messages = messages.drop_duplicates("message").sample(frac=1, random_state=0, ignore_index=True)
if "--quick" in sys.argv:
    messages = messages.head(1500)
print(messages["team"].value_counts().to_string())
print()
print(messages["message"].iloc[0])

# %% [markdown]
# The column is recognized as words, because it looks like it; `words="message"` sets it. Single words and pairs of
# neighbors are hashed, in bounded memory.

# %%
result = ul.train(messages, "team", reading=ul.Reading(words="message"))
wrong, always_one = result.metrics["error_rate"], result.baseline["error_rate"]
print(f"sent to the wrong team: {wrong:.1%} ({result.baseline_name}: {always_one:.1%})")

# %%
question = "How do I group the rows by a column and fill the missing values?"
why = ul.explain(result, {"message": question})
print(f"{question}  ->  {why.prediction}")

plt.style.use("unitless.plot.style")
figure, (left, right) = plt.subplots(1, 2, figsize=(13, 4.6))
ul.plot.explanation(why, ax=left, most=8)
left.set_title(f"why {why.prediction}", fontsize="medium", loc="center")
recall = {team: of["recall"] for team, of in result.details.per_class.items()}
right.barh(list(recall), [100 * value for value in recall.values()], color="C0")
right.set(xlabel="messages of the team that are sent to it, %", xlim=(0, 100))
right.set_title("recall of each team", fontsize="medium", loc="center")
right.grid(alpha=0.3, axis="x")
plt.show()

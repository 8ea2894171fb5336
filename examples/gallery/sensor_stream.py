"""The sensor was replaced, and now it counts in other units. What becomes of the model?

Takeaway: weights that have no unit go on as if nothing had happened when a sensor begins to report millivolts for
volts; a scaler that was fitted before does not.

python examples/gallery/sensor_stream.py      (pip install 'unitless[cli,plot,sklearn]')
"""

# %% [markdown]
# The readings are real: nine sensors of the space shuttle's radiator system (Statlog Shuttle, 43,500 rows, which
# comes with the package). The question is whether the state is the usual one. Two things are **made up** on top: from
# row 20,000 on two sensors report in thousandths, that is numbers that are 1,000 times as large, and from row 30,000
# on the first sensor drifts slowly away.

# %%
import sys

import numpy as np
from matplotlib import pyplot as plt
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

import unitless as ul
from unitless.datasets import load_shuttle

X, state = load_shuttle()
unusual = state != 1
if "--quick" in sys.argv:
    X, unusual = X[::5], unusual[::5]
rows = len(X)
units, drift = 20_000 * rows // 43_500, 30_000 * rows // 43_500
X[units:, [1, 6]] *= 1000.0
X[drift:, 0] += np.linspace(0, 2 * X[:drift, 0].std(), rows - drift)

# %% [markdown]
# Both models learn row by row, after they have predicted. The usual way is a scaler that was fitted on the first
# 2,000 rows and a linear model behind it. `unitless` has no scaler.

# %%
model = ul.Learner(loss="logistic", learning_rate="auto", centre=True)
wrong = (model.learn(X, unusual) > 0) != unusual

scaler = StandardScaler().fit(X[:2000])
usual = SGDClassifier(loss="log_loss", random_state=0)
usual.partial_fit(scaler.transform(X[:100]), unusual[:100], classes=[False, True])
wrong_usual = np.zeros(rows, bool)
for start in range(100, rows, 100):
    part = slice(start, start + 100)
    scaled = scaler.transform(X[part])
    wrong_usual[part] = usual.predict(scaled) != unusual[part]
    usual.partial_fit(scaled, unusual[part])

# %%
spans = {"before": slice(2000, units), "other units": slice(units, drift), "and drift": slice(drift, rows)}
for name, errors in (("unitless", wrong), ("scaler and SGD", wrong_usual)):
    print(f"{name:>15}: " + ", ".join(f"{span} {errors[at].mean():.1%}" for span, at in spans.items()))

window = max(200, rows // 40)
figure, axis = plt.subplots(figsize=(9, 4.2), layout="constrained")
for name, errors in (("scaler and SGD", wrong_usual), ("unitless", wrong)):
    smooth = np.convolve(errors, np.ones(window) / window, "valid")
    axis.plot(np.arange(window, rows + 1), 100 * smooth, linewidth=2, label=name)
axis.set_ylim(0, 1.2 * axis.get_ylim()[1])  # room for the words
for at, text in ((units, "two sensors in\nother units"), (drift, "a third\ndrifts")):
    axis.axvline(at, color="grey", linestyle=":")
    axis.annotate(
        text, (at, axis.get_ylim()[1]), xytext=(4, -4), textcoords="offset points", va="top", fontsize="small"
    )
axis.set(xlabel="row", ylabel=f"errors in the last {window:,} rows, %")
axis.legend(frameon=False, loc="upper left")
plt.show()

# %% [markdown]
# This works because a larger unit is a larger scale, and the weight belongs to the reading divided by its scale. The
# other way round, from millivolts to volts, the numbers become small compared with what the model has seen, and it
# has to learn the sensor anew. If such a change is known, give the column a new name.

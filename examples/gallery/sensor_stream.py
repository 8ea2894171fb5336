"""The sensor was replaced, and now it counts in other units. What becomes of the model?

Takeaway: when two sensors begin to report numbers 1,000 times as large, the error rises a little and comes back by
itself; behind a scaler that was fitted before and stays as it is, it does not come back.

python examples/gallery/sensor_stream.py      (pip install 'unitless[plot,sklearn]')
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
from unitless.paper.datasets import load_shuttle

X, state = load_shuttle()
unusual = state != 1
if "--quick" in sys.argv:
    X, unusual = X[::5], unusual[::5]
rows = len(X)
units, drift = 20_000 * rows // 43_500, 30_000 * rows // 43_500
X[units:, [1, 6]] *= 1000.0
X[drift:, 0] += np.linspace(0, 2 * X[:drift, 0].std(), rows - drift)

# %% [markdown]
# Both models predict before they learn: `unitless` row by row, the other one in parts of 100 rows. The other one is a
# linear model, not tuned, behind a scaler that was fitted on the first 2,000 rows and stays as it is. `unitless` has
# no scaler.

# %%
model = ul.Learner(loss="logistic", learning_rate="auto", center=True)
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
    axis.axvline(at, color="gray", linestyle=":")
    axis.annotate(
        text, (at, axis.get_ylim()[1]), xytext=(4, -4), textcoords="offset points", va="top", fontsize="small"
    )
axis.set(xlabel="row", ylabel=f"errors in the last {window:,} rows, %")
axis.legend(frameon=False, loc="upper left")
plt.show()

# %% [markdown]
# A larger unit is a larger scale, and scales adapt to the readings. What this does not show: the model leans little on
# these two sensors (with both of them dead, the error between rows 20,000 and 30,000 is 3.9%, without any change
# 3.7%). If all nine sensors change at once to numbers 1,000 times as large, the error is 12% in the next 1,000 rows
# and below 5% from row 30,000 on. If all become 1,000 times smaller, it stays above 20%: small numbers do not lower a
# scale. If such a change is known, give the columns new names.

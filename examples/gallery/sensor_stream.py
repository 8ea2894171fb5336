"""The sensor was replaced, and now it counts in other units. What becomes of the model?

Takeaway: when two sensors begin to report numbers 1,000 times as large, the error of unitless rises a little and
falls again; the error of a model behind a scaler that was fitted before stays high.

python examples/gallery/sensor_stream.py      (pip install 'unitless[plot,sklearn]')
"""

# %% [markdown]
# The readings are real: nine sensors of the space shuttle's radiator system (Statlog Shuttle, 43,500 rows, which comes
# with the package). The question is whether the state is the usual one. One thing is **made up**: from row 20,000 on
# two sensors report in thousandths, that is, numbers that are 1,000 times as large.

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
change = 20_000 * rows // 43_500
X[change:, [1, 6]] *= 1000.0

# %% [markdown]
# Both models predict before they learn: `unitless` row by row and without a scaler, the other one in parts of 100 rows.
# The other one is scikit-learn's linear `SGDClassifier`, not tuned, behind a scaler that was fitted on the first 2,000
# rows.

# %%
model = ul.Learner(loss="logistic", learning_rate="auto", center=True)
wrong = (model.learn(X, unusual) > 0) != unusual

scaler = StandardScaler().fit(X[:2000])
sgd = SGDClassifier(loss="log_loss", random_state=0)
sgd.partial_fit(scaler.transform(X[:100]), unusual[:100], classes=[False, True])
wrong_sgd = np.zeros(rows, bool)
for start in range(100, rows, 100):
    part = slice(start, start + 100)
    scaled = scaler.transform(X[part])
    wrong_sgd[part] = sgd.predict(scaled) != unusual[part]
    sgd.partial_fit(scaled, unusual[part])

# %%
for name, errors in (("unitless", wrong), ("scaler + SGD", wrong_sgd)):
    before, after = errors[2000:change].mean(), errors[change:].mean()
    print(f"{name:>12}: {before:.1%} wrong before the change, {after:.1%} after it")

plt.style.use("unitless.plot.style")
window = 1_000 * rows // 43_500
figure, axis = plt.subplots()
for name, errors, color in (("scaler + SGD", wrong_sgd, "C4"), ("unitless", wrong, "C0")):
    share = 100 * np.convolve(errors, np.ones(window) / window, "valid")
    axis.plot(np.arange(window, rows + 1), share, color=color)
    end = (rows, share[-1])
    axis.annotate(f" {name}", end, color=color, va="center", weight="bold", annotation_clip=False)
axis.axvline(change, color="#444444", linewidth=1)
axis.annotate("from here on two sensors\nreport in other units", (change, 38), xytext=(-6, 0), ha="right",
              textcoords="offset points", va="top", color="#444444")  # fmt: skip
axis.set(xlim=(0, rows), ylim=(0, 40), xlabel="rows of the stream", ylabel=f"errors in the last {window:,} rows, %")
axis.xaxis.set_major_formatter("{x:,.0f}")
plt.show()

# %% [markdown]
# A larger unit is a larger scale, and scales adapt to the readings. What this does not show: the model depends little
# on these two sensors (with both of them dead, the error between rows 20,000 and 30,000 is 4.0%, without any change
# 3.7%). If all nine sensors change at once to numbers 1,000 times as large, the error is 12% in the next 1,000 rows and
# below 5% from row 28,000 on. If all become 1,000 times smaller, the error stays above 20%, because a scale only grows;
# with `falling_scales=True`, which `ul.train` and the estimators use, it is below 10% from row 28,000 on. If such a
# change is known, give the columns new names.

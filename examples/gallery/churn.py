"""Which customers are about to leave?

Takeaway: calibrated probabilities turn a model into a list of customers to call, and determine how long that list
should be.

python examples/gallery/churn.py      (pip install 'unitless[plot]' pandas)
"""

# %% [markdown]
# A phone company can call 10% of its customers each month. Whom? The customers are **simulated**: leaving depends on
# the contract, on how long they have been there, on calls to the help desk and on the bill, and much of it is chance.

# %%
import sys

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import unitless as ul

rows = 800 if "--quick" in sys.argv else 20_000
rng = np.random.default_rng(2)
months = rng.gamma(1.3, 20, rows).round()
customers = pd.DataFrame(
    {
        "months": months,
        "contract": rng.choice(["monthly", "one year", "two years"], rows, p=[0.55, 0.25, 0.2]),
        "bill": rng.gamma(8, 7, rows).round(2),
        "data_bytes": rng.lognormal(22, 1.5, rows).round(),
        "help_calls": rng.poisson(0.8, rows),
        "payment": rng.choice(["card", "transfer", "invoice"], rows),
        "age": np.where(rng.random(rows) < 0.3, np.nan, rng.integers(18, 90, rows)),
    }
)
leaning = -4.2 + 1.6 * (customers["contract"] == "monthly") - 0.9 * (customers["contract"] == "two years")
leaning += 2.4 * np.exp(-months / 8) + 0.8 * np.minimum(customers["help_calls"], 4) + 0.025 * (customers["bill"] - 55)
customers["left"] = np.where(leaning + rng.logistic(size=rows) > 0, "yes", "no")
this_month, next_month = customers[: rows // 2], customers[rows // 2 :]

# %%
result = ul.train(this_month, "left")
print(result.task)
print(f"AUC on held-out rows: {result.metrics['auc']:.3f}")

# %% [markdown]
# The model predicts the next month. Its probabilities are calibrated: of those that it gave 30%, about 30% left. That
# makes the second picture possible: calling the first 10% of the list reaches several times as many leavers as calling
# at random.

# %%
found = ul.evaluate(result, next_month)
chance = result.predict_proba(next_month)["yes"].to_numpy()
left = (next_month["left"] == "yes").to_numpy()[np.argsort(-chance)]
called = np.arange(1, len(left) + 1) / len(left)
reached = left.cumsum() / left.sum()
tenth = len(left) // 10
print(f"calling 10% reaches {reached[tenth - 1]:.0%} of those who leave")

plt.style.use("unitless.plot.style")
figure, (reliable, calls) = plt.subplots(1, 2, figsize=(11, 4.4))
ul.plot.reliability(found, ax=reliable)
calls.plot(100 * called, 100 * reached)
calls.plot([0, 100], [0, 100], color="C4")
calls.text(38, 82, "likeliest first", color="C0", ha="right")
calls.text(62, 52, "at random", color="C4")
calls.plot(10, 100 * reached[tenth - 1], "o", color="C0", markersize=9)
calls.set(xlabel="customers called, %", ylabel="leavers reached, %", xlim=(0, 100), ylim=(0, 101))
calls.set_title("Whom to call", loc="center")
plt.show()

# %% [markdown]
# How long should the list be? If a call costs 5 and keeps a third of those who would leave, each worth 120, a call pays
# when the probability is above 5 / (120 / 3) = 12.5%. No threshold has to be tuned for that.

# %%
worth_it = chance > 5 / (120 / 3)
print(f"{worth_it.mean():.0%} of the customers are worth a call; {left.mean():.0%} leave")

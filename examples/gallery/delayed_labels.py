"""The answer comes days later. How does one learn meanwhile?

Takeaway: predict now, keep the row, and learn it when its label is final. A model that takes "nothing yet" for "no"
predicts too few purchases.

python examples/gallery/delayed_labels.py      (pip install 'unitless[plot]')
"""

# %% [markdown]
# A shop wants to know who will buy within a week of a visit. A purchase is known when it happens, and that nobody
# bought is known only when the week is over. The visits are **simulated**, 40 an hour for some weeks; half of all
# purchases come within a day, the others later.

# %%
import sys

import numpy as np
from matplotlib import pyplot as plt

import unitless as ul

WEEK = 7 * 24  # hours
weeks = 3 if "--quick" in sys.argv else 8
rng = np.random.default_rng(6)
rows = weeks * WEEK * 40
hours = np.sort(rng.uniform(0, weeks * WEEK, rows))
visits = np.column_stack(
    [rng.gamma(2, 60, rows), rng.poisson(5, rows), rng.lognormal(4, 1, rows), rng.random(rows) < 0.3]
)
wish = -3.4 + 0.006 * visits[:, 0] + 0.12 * visits[:, 1] + 0.3 * np.log(visits[:, 2]) / 4 + 1.1 * visits[:, 3]
bought = wish + rng.logistic(size=rows) > 0
bought_at = np.where(bought, hours + np.minimum(rng.exponential(35, rows), WEEK), np.inf)

# %% [markdown]
# Three models see the same visits. The first learns the truth at once, which is impossible in practice. The second
# keeps each visit until its week is over, and learns it then. The third learns "no" at once, and "yes" when somebody
# buys.
#
# (To learn a purchase as soon as it happens and "no" when the week is over looks tempting, but in the first week such a
# model sees only purchases.)


# %%
def fresh() -> ul.Learner:
    """A new model of a probability."""
    return ul.Learner(loss="logistic", learning_rate="auto", center=True)


names = ("truth at once (impossible)", "after the week", '"no" until a purchase')
models = {name: fresh() for name in names}
predicted = {name: np.full(rows, np.nan) for name in names}
purchases = np.argsort(bought_at)
over = sold = 0  # the number of visits whose week is over, and of purchases so far
PART = 40  # visits are handled in parts of about an hour
for start in range(0, rows, PART):
    part = np.arange(start, min(start + PART, rows))
    now = hours[part[0]]
    for name, model in models.items():
        if model.examples:
            predicted[name][part] = model.predict_proba(visits[part])[:, 1]

    models[names[0]].learn(visits[part], bought[part])

    ready = slice(over, np.searchsorted(hours, now - WEEK))
    models[names[1]].learn(visits[ready], bought[ready])

    new = purchases[sold : np.searchsorted(bought_at, now, sorter=purchases)]
    mixed = rng.permutation([*part, *new])
    models[names[2]].learn(visits[mixed], np.isin(mixed, new))
    over, sold = ready.stop, sold + len(new)

# %%
last = hours > (weeks - 1) * WEEK
print(f"bought in the last week: {bought[last].mean():.1%}")
for name, chance in predicted.items():
    loss = -np.mean(np.log(np.where(bought[last], chance[last], 1 - chance[last])))
    print(f"{name:>27}: predicted {chance[last].mean():.1%}, log loss {loss:.4f}")

days = np.arange(7 * weeks)
plt.style.use("unitless.plot.style")
figure, axis = plt.subplots(figsize=(9, 4.2))
day = (hours // 24).astype(int)
truth = [100 * bought[day == d].mean() for d in days]
axis.plot(days, truth, ".", color="C4", markersize=7)
for place, (name, chance) in enumerate(predicted.items()):
    expected = [100 * chance[day == d].mean() for d in days]
    axis.plot(days, expected, color=f"C{place}")
    side = ("top", "bottom", "center")[place]  # the first two lines end close to each other
    axis.annotate(f"  {name}", (days[-1], expected[-1]), color=f"C{place}", va=side, annotation_clip=False)
axis.text(8, 24.5, "dots: what happened", color="C4", va="top")
axis.axvspan(0, 7, color="0.94", zorder=0)
axis.text(0.3, 1, "no week\nis over", color="C4")
axis.set(xlabel="day", ylabel="visits with a purchase, %\n(lines: predicted)", ylim=(0, None))
plt.show()

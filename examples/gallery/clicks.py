"""Who clicks on what, when there are millions of names?

Takeaway: names are hashed into a table of fixed size, so memory is bounded however many users and pages there are.
Pairs of names need only one option more.

python examples/gallery/clicks.py      (pip install 'unitless[plot]')
"""

# %% [markdown]
# Each row is a page view: a user, an advert, a site, an hour. There are so many names that a table of all of them would
# grow without limit. The views are **simulated**: a click depends on the advert, on the site, on both together (an
# advert for boots on a page about hiking), a little on the user, and mostly on chance.

# %%
import sys

import numpy as np
from matplotlib import pyplot as plt

import unitless as ul

rows = 4_000 if "--quick" in sys.argv else 80_000
rng = np.random.default_rng(5)
ADVERTS, SITES, USERS = 60, 40, 1_000_000
of_advert, of_site = rng.normal(0, 0.6, ADVERTS), rng.normal(0, 0.6, SITES)
together = rng.normal(0, 1.2, (ADVERTS, SITES))
advert, site = rng.integers(ADVERTS, size=rows), rng.integers(SITES, size=rows)
user = (USERS * rng.random(rows) ** 3).astype(int)
hour = rng.integers(24, size=rows)
score = -1.5 + of_advert[advert] + of_site[site] + together[advert, site] + 0.4 * np.sin(user) + 0.3 * (hour > 18)
clicked = score + rng.logistic(size=rows) > 0
views = [
    {f"advert={a}": 1.0, f"site={s}": 1.0, f"user={u}": 1.0, f"hour={h}": 1.0}
    for a, s, u, h in zip(advert, site, user, hour, strict=True)
]
print(views[0], bool(clicked[0]))
print(f"{len({name for view in views for name in view}):,} names; {clicked.mean():.1%} clicks")

# %% [markdown]
# `bits=16` hashes all names into 2^16 places. Pairs are named by their beginnings: `("advert=*", "site=*")` is every
# advert on every site. Each view is predicted before it is learned, so the loss below is that on views not yet seen.

# %%
PAIRS = [("advert=*", "site=*")]
kinds = {
    "names": ul.Learner(loss="logistic", learning_rate="auto"),
    "names hashed, 16 bits": ul.Learner(loss="logistic", learning_rate="auto", bits=16),
    "and pairs, 16 bits": ul.Learner(loss="logistic", learning_rate="auto", bits=16, interactions=PAIRS),
    "and pairs, 10 bits": ul.Learner(loss="logistic", learning_rate="auto", bits=10, interactions=PAIRS),
}
histories = {}
for name, model in kinds.items():
    histories[name] = ul.metrics.Evaluation(model)
    for start in range(0, rows, 1000):
        part = slice(start, start + 1000)
        histories[name].add(model.learn(views[part], clicked[part]), clicked[part])
    metrics = histories[name].metrics
    print(f"{name:>22}: log loss {metrics['log_loss']:.4f}, AUC {metrics['auc']:.3f}, {model.nbytes / 1e6:5.1f} MB")

# %%
plt.style.use("unitless.plot.style")
figure, axis = plt.subplots(figsize=(9, 4.4))
ul.plot.history(histories, ax=axis)
axis.set_title("loss on views before they are learned")
plt.show()

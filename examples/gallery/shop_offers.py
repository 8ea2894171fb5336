"""Which offer should this visitor see?

Takeaway: a bandit shows each visitor the offer that pays best for such visitors, and logs how probable each offer was.
When the shop begins to count in another currency, the bandit notices it and learns anew.

python examples/gallery/shop_offers.py      (pip install 'unitless[plot]')
"""

# %% [markdown]
# A shop can show one of three offers: nothing, free shipping, or a discount. It sees what a visitor spends after the
# offer that was shown; what the other two would have brought remains unknown. The shop is **simulated**: free shipping
# moves small baskets, and the discount moves large baskets of new customers.

# %%
import sys

import numpy as np
from matplotlib import pyplot as plt

import unitless as ul

OFFERS = ["nothing", "free shipping", "discount"]
visits = 600 if "--quick" in sys.argv else 6_000


def profits(basket, returning):
    """The mean profit of each offer."""
    buys = 0.5 + 0.3 * returning
    return {
        "nothing": 0.40 * basket * buys,
        "free shipping": 0.30 * basket * min(1, buys + 0.5 * (basket < 50)),
        "discount": 0.32 * basket * min(1, buys + 0.4 * (basket > 90 and not returning)),
    }


# %% [markdown]
# One decision for each visit, and one reward. In the middle, the shop moves from dollars to yen: from then on the
# basket **and** the profit are 150 times as large. The bandit gets no message about it.


# %%
def run(rate, seed=1):
    """The bandit, its log, and the share of the possible gain over a random offer, visit by visit."""
    rng, bandit, log, shares = np.random.default_rng(seed), ul.Bandit(), [], []
    for visit in range(visits):
        basket, returning = rng.uniform(10, 150), bool(rng.random() < 0.4)
        mean = profits(basket, returning)
        unit = rate if visit >= visits // 2 else 1
        context = {"basket": basket * unit, "returning": returning}
        decision = bandit.decide(visit, context, OFFERS)
        reward = unit * mean[decision.action] * (0.7 + 0.6 * rng.random())
        bandit.learn(visit, reward)
        log.append(ul.bandit.Logged(context, OFFERS, decision.action, reward, decision.propensities, decision.expected))
        random = np.mean(list(mean.values()))
        shares.append((mean[decision.action] - random, max(mean.values()) - random))
    return bandit, log, np.array(shares)


bandit, log, in_yen = run(150)
_, _, in_dollars = run(1)
window = visits // 30
plt.style.use("unitless.plot.style")
figure, axis = plt.subplots()
at = np.arange(window, visits + 1)
for gains, color in ((in_dollars, "C4"), (in_yen, "C0")):
    gained, possible = (np.convolve(side, np.ones(window), "valid") for side in gains.T)
    axis.plot(at, 100 * gained / possible, color=color)
axis.axvline(visits / 2, color="C4", linewidth=1, linestyle=":")
axis.text(visits * 0.55, 60, f"yen from visit {visits // 2:,} on", color="C0")
axis.text(visits * 0.98, 103, "dollars until the end", color="C4", ha="right")
axis.set(
    xlabel="visit",
    ylabel=f"gain over the last {window} visits, %\n(0: random offers, 100: the best offers)",
    ylim=(0, 110),
)
axis.xaxis.set_major_formatter("{x:,.0f}")
plt.show()

# %% [markdown]
# The gain is 0 if all offers are random, and 100 if each visitor gets the best offer. After the change, the profits
# that the bandit expects are wrong by a factor of 150. Some dozens of rewards later the bandit has noticed it, and
# learns as quickly as a new one.
#
# What would it choose now, and why? The probability of each offer is part of every decision.

# %%
for basket, returning in ((20, False), (120, False), (120, True)):
    context = {"basket": basket * 150, "returning": returning}
    chances = bandit.propensities(context, OFFERS)
    print(f"{basket:4} {'returning' if returning else 'new':9}", {name: f"{p:.0%}" for name, p in chances.items()})

# %% [markdown]
# Because the log has each probability, it can be used to estimate what any other policy would have earned, without
# showing a single offer. Here it is the log of the first half, in dollars: the mean profit of a visit with the policy,
# and with the bandit.

# %%
first = log[: visits // 2]
for name, policy in {
    "always a discount": "discount",
    "small baskets ship free": lambda context, _: "free shipping" if context["basket"] < 50 else "nothing",
}.items():
    found = ul.bandit.evaluate(first, policy)
    print(f"{name}: {found.snips.value:.1f} instead of {found.logged.value:.1f}")

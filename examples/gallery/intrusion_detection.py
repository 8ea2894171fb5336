"""Is somebody breaking in?

Takeaway: a model that learns from every connection finds a new kind of attack after some dozens of labeled examples; a
model that was trained once never does.

python examples/gallery/intrusion_detection.py      (pip install 'unitless[plot]')
"""

# %% [markdown]
# A firewall sees connections one after the other: bytes from a few to billions, seconds, counts, names of services. An
# analyst labels them a little later. The connections are **simulated**: normal traffic, port scans and guessing of
# passwords from the start, and after two thirds of the time a new attack, data carried out slowly by night.

# %%
import sys

import numpy as np
from matplotlib import pyplot as plt

import unitless as ul

rows = 3_000 if "--quick" in sys.argv else 60_000
rng = np.random.default_rng(3)
NEW = 2 * rows // 3


def connection(number: int) -> tuple[dict[str, float], str]:
    """One connection, and what it is."""
    draw = rng.random()
    hour = rng.integers(24)
    kind = "normal"
    if draw < 0.02:
        kind = "scan"
    elif draw < 0.04:
        kind = "guessing"
    elif draw < 0.05 and number >= NEW:
        kind = "exfiltration"
        hour = rng.integers(1, 5)
    service = str(rng.choice({"scan": ["other"], "guessing": ["ssh", "mail"]}.get(kind, ["web", "mail", "dns", "ssh"])))
    sent = {"scan": 40.0, "guessing": 900.0, "exfiltration": rng.lognormal(16, 1)}.get(kind, rng.lognormal(7, 2))
    row = {
        "bytes_sent": float(sent),
        "bytes_received": float(rng.lognormal(5 if kind == "normal" else 4, 2)),
        "seconds": float(rng.gamma(1, 600 if kind == "exfiltration" else 5)),
        "failed_logins": float(rng.poisson(4 if kind == "guessing" else 0.05)),
        "ports_last_minute": float(rng.poisson(60 if kind == "scan" else 2)),
        f"service={service}": 1.0,
        f"night={1 <= hour < 5}": 1.0,
    }
    return row, kind


# %% [markdown]
# The model learns the stream: it predicts each connection, then learns its label. Classes need not be known in advance:
# "exfiltration" is added with its first label. The model is compared with a copy of itself from before the new attack
# began.

# %%
stream = [connection(number) for number in range(rows)]
model = ul.OneVsAll(loss="logistic", learning_rate="auto")
frozen = None
guesses: list[str] = []
guesses_frozen: list[str] = []
for number, (row, kind) in enumerate(stream):
    if number == NEW:
        frozen = model.copy()
    if frozen is not None:
        guesses_frozen.append(str(frozen.predict_label_one(row)))
    guesses.append(str(model.predict_label_one(row)) if number else "normal")
    model.learn_one(row, kind)
print(f"classes: {sorted(map(str, model.classes))}")

# %%
truth = np.array([kind for _, kind in stream])
late, late_frozen, late_truth = np.array(guesses[NEW:]), np.array(guesses_frozen), truth[NEW:]
for name, predicted in (("learns on", late), ("trained once", late_frozen)):
    attack = late_truth != "normal"
    new = late_truth == "exfiltration"
    alarms = np.mean(predicted[~attack] != "normal")
    print(
        f"{name:>12}: {np.mean(predicted[attack] != 'normal'):.0%} of the attacks found, "
        f"{np.mean(predicted[new] != 'normal'):.0%} of the new kind, {alarms:.2%} false alarms"
    )

# %%
plt.style.use("unitless.plot.style")
figure, axis = plt.subplots(figsize=(8, 4.2))
where = np.flatnonzero(late_truth == "exfiltration")
for name, predicted in (("learns on", late), ("trained once", late_frozen)):
    hits = (predicted[where] != "normal").cumsum()
    color = "C0" if name == "learns on" else "C4"
    axis.plot(np.arange(1, len(where) + 1), hits, color=color)
    axis.annotate(f"  {name}", (len(where), hits[-1]), color=color, va="bottom", annotation_clip=False)
axis.plot([1, len(where)], [1, len(where)], ":", color="C5", linewidth=1.5)
axis.annotate("  all of them", (len(where), len(where)), color="C5", va="bottom", annotation_clip=False)
axis.set(xlabel="attacks of the new kind so far", ylabel="attacks found", ylim=(0, None))
axis.set_title("a kind of attack that was never seen before")
plt.show()

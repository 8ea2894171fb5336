"""What is this house worth?

Takeaway: a table needs no preparation, although meters, acres, years and names stand next to each other; in other units
it gives the same prices.

python examples/gallery/house_prices.py      (pip install 'unitless[plot]' pandas)
"""

# %% [markdown]
# An agency has a list of sales and wants a price for the next house. The columns have all kinds of units, some values
# are missing, and the price per square meter depends on the place in a way that is not a straight line. The sales here
# are **simulated**: the price is known to be made of area, land, age, distance and district, with 10% of noise.

# %%
import sys

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import unitless as ul

rows = 600 if "--quick" in sys.argv else 12_000
rng = np.random.default_rng(1)
sales = pd.DataFrame(
    {
        "area_m2": rng.gamma(6, 20, rows).round() + 30,
        "land_acres": rng.gamma(1.5, 0.15, rows).round(3),
        "built": rng.integers(1900, 2026, rows),
        "to_center_m": rng.gamma(2, 3000, rows).round(),
        "district": rng.choice(["north", "south", "harbor", "old town"], rows, p=[0.4, 0.35, 0.15, 0.1]),
        "heating": rng.choice(["gas", "oil", "heat pump"], rows),
    }
)
per_m2 = 1500 + 3500 * np.exp(-sales["to_center_m"] / 4000) + 8 * (sales["built"] - 1900)
worth = per_m2 * sales["area_m2"] + 90_000 * np.sqrt(sales["land_acres"])
worth *= sales["district"].map({"north": 0.95, "south": 1.0, "harbor": 1.35, "old town": 1.2})
sales["price"] = (worth * rng.lognormal(0, 0.1, rows)).round(-3)
sales.loc[rng.random(rows) < 0.05, "land_acres"] = np.nan
print(sales.head(4).to_string(index=False))

# %% [markdown]
# One line trains a model. Nothing is scaled, encoded or filled in before. A tenth of the rows is held out, and the
# metrics are those of the model on these rows.

# %%
result = ul.train(sales, "price")
print(f"{result.metrics_on}")
print(f"typical error: {result.metrics['mae']:,.0f}; always the mean: {result.baseline['mae']:,.0f}")
print(f"R²: {result.skill:.3f}")

# %% [markdown]
# The model can be drawn. Each panel shows what a column adds to the price: the value of being near to the center falls
# fast, and then not at all. The gray bars show where the houses are.

# %%
plt.style.use("unitless.plot.style")
figure, axes = plt.subplots(1, 3, figsize=(14, 4))
ul.plot.predictions(result, ax=axes[0])
ul.plot.curves(result, column="to_center_m", ax=axes[1])
ul.plot.curves(result, column="district", ax=axes[2])
axes[0].locator_params(nbins=5)
for axis in (axes[0].xaxis, axes[0].yaxis, axes[1].xaxis, axes[1].yaxis, axes[2].xaxis):
    axis.set_major_formatter(lambda x, _: f"{x / 1000:,.0f}")
axes[0].set(xlabel="predicted price, thousands", ylabel="price, thousands")
axes[1].set(xlabel="kilometers to the center", ylabel="adds to the price, thousands")
axes[2].set(xlabel="adds to the price, thousands", ylabel="")
for axis, title in zip(axes, ("prediction and truth", "distance", "district"), strict=True):
    axis.set_title(title, loc="center")
plt.show()

# %% [markdown]
# The next office measures in square feet and kilometers. The same houses in those units get the same prices: the model
# is trained again, with no other change.

# %%
imperial = sales.assign(area_m2=sales["area_m2"] * 10.7639, to_center_m=sales["to_center_m"] / 1000)
again = ul.train(imperial, "price")
before, after = result.predict(sales.head(500)), again.predict(imperial.head(500))
apart = np.abs(np.asarray(after) / np.asarray(before) - 1)
print(f"the two prices of a house differ by {apart.max():.2%} at most")

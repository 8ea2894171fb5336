"""Write houses.csv and new.csv: 5,000 simulated house sales to learn from, and 500 more to try the model on.

python examples/houses.py      (needs nothing but Python; the README uses them: pip install unitless)

The tables are as raw as those of a database: four units, text, and one distance in twenty is missing. The price is
known: 150,000, plus 2,500 per square meter, 900 for each year after 1900 and 30,000 for a heat pump, less 6,000 for
each kilometer from the center; the noise has a standard deviation of 20,000.
"""

from __future__ import annotations

import csv
import random


def main() -> None:
    """Write both files."""
    random.seed(1)
    for path, rows in (("houses.csv", 5000), ("new.csv", 500)):
        with open(path, "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["area_m2", "built", "km_to_center", "heating", "price"])
            table.writerows(house() for _ in range(rows))
        print(f"{path}: {rows:,} house sales; the column to predict is 'price'")


def house() -> list[object]:
    """One sale."""
    area, built, km = random.randint(35, 220), random.randint(1900, 2020), round(random.uniform(0.2, 30), 1)
    heating = random.choice(["gas", "oil", "heat pump"])
    price = 150_000 + 2500 * area + 900 * (built - 1900) - 6000 * km + 30_000 * (heating == "heat pump")
    known = "" if random.random() < 0.05 else km
    return [area, built, known, heating, round(price + random.gauss(0, 20_000))]


if __name__ == "__main__":
    main()

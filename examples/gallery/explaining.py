"""How do I explain this prediction to my manager?

Takeaway: every prediction is a sum of contributions in the unit of the answer. The sum can be drawn, read and checked.

python examples/gallery/explaining.py      (pip install 'unitless[plot,sklearn]' pandas)
"""

# %% [markdown]
# A clinic estimates how far a patient's diabetes will have advanced in a year, and has to explain the estimate. The
# data is real: 442 patients (Efron and others, 2004; it comes with scikit-learn), measurements in their own units, and
# a measure of the disease between 25 and 346 a year later.

# %%
import sys

from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes

import unitless as ul

patients = load_diabetes(as_frame=True, scaled=False).frame.rename(
    columns={
        "bp": "blood pressure",
        "s1": "cholesterol",
        "s2": "LDL",
        "s3": "HDL",
        "s4": "cholesterol / HDL",
        "s5": "log triglycerides",
        "s6": "sugar",
    }
)
patients = patients.drop(columns="sex")  # the data does not say which code stands for which
result = ul.train(patients, "target", model_type="linear" if "--quick" in sys.argv else "curves", holdout=0.25)
print(f"mean absolute error {result.metrics['mae']:.0f}; if the mean is always predicted {result.baseline['mae']:.0f}")

# %% [markdown]
# On the left: how much the error rises on held-out patients without knowing a measurement, with 90% confidence
# intervals. On the right: what each measurement of one patient adds to the estimate, compared with the average patient.
# The bars begin at the average (the dotted line) and end at the estimate.

# %%
patient = patients.drop(columns="target").iloc[9]
why = ul.explain(result, patient)
plt.style.use("unitless.plot.style")
figure, (left, right) = plt.subplots(1, 2, figsize=(13, 4.4))
ul.plot.importance(result, ax=left, most=8)
left.set_title("all held-out patients", fontsize="medium")
ul.plot.explanation(why, ax=right, most=6)
right.set(title="one patient", xlabel="estimated measure of the disease in a year")
plt.show()

# %% [markdown]
# The same in a sentence, for the letter.

# %%
up = [part for part in why.contributions if part.contribution > 0][:2]
down = [part for part in why.contributions if part.contribution < 0][:1]
reasons = " and ".join(f"{part.column} ({part.value:g})" for part in up)
against = "".join(f"; {part.column} lowers it" for part in down)
print(f"The estimate is {why.prediction:.0f}, the average {why.base_value:.0f}. Mostly because of {reasons}{against}.")

# %% [markdown]
# And what if? A manager asks what a lower weight would change. The model answers for the same patient with another
# value; that is what it has learned from other patients, not a promise about this one.

# %%
for bmi in (patient["bmi"], 28.0, 24.0):
    print(f"bmi {bmi:.1f}: {result.predictor.predict_one({**patient.to_dict(), 'bmi': bmi}):.0f}")

"""A hand-made service for comparison: FastAPI in front of a model of River. Nothing is durable."""

from __future__ import annotations

import json

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel
from river import linear_model, metrics, preprocessing

app = FastAPI()
model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
accuracy = metrics.Accuracy()


class Asked(BaseModel):
    """A row to predict."""

    features: dict[str, float]


class Known(Asked):
    """A row to learn."""

    label: bool


class Said(BaseModel):
    """An answer."""

    prediction: bool
    probability: float


def said(features: dict[str, float]) -> Said:
    """The prediction for a row."""
    probability = model.predict_proba_one(features)[True]
    return Said(prediction=probability > 0.5, probability=probability)


@app.post("/predict")
async def predict(row: Asked) -> Said:
    """Predict."""
    return said(row.features)


@app.post("/learn")
async def learn(row: Known) -> Said:
    """Predict, evaluate, learn."""
    answer = said(row.features)
    accuracy.update(row.label, answer.prediction)
    model.learn_one(row.features, row.label)
    return answer


@app.post("/learn_lines")
async def learn_lines(request: Request) -> PlainTextResponse:
    """Learn the rows of JSON lines; an answer line for each."""
    answers = []
    for line in (await request.body()).splitlines():
        row = json.loads(line)
        probability = model.predict_proba_one(row["features"])[True]
        accuracy.update(row["label"], probability > 0.5)
        model.learn_one(row["features"], row["label"])
        answers.append(json.dumps({"prediction": probability > 0.5, "probability": probability}))
    return PlainTextResponse("\n".join(answers) + "\n", media_type="application/x-ndjson")

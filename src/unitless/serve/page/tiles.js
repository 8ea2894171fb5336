// The tiles at the top: the numbers to look at first. Each explains itself when it is pointed at, focused or touched.

import { byId, make, setText } from "./elements.js";
import { count, metric, metricName, number, percent, rate, scores } from "./numbers.js";

const RECENT = 1000; // rows over which the recent value of a metric is computed, at least
const LAST_LABEL = "last_label"; // one of the baselines; the other is the constant one
const BEFORE = "Of predictions that were made before their row was learned";

const abouts = {
  accuracy: `Share of rows that were predicted correctly. ${BEFORE}. Larger is better.`,
  rmse: `Root of the mean squared error, in the unit of the labels. ${BEFORE}. Smaller is better.`,
  mae: `Mean absolute error, in the unit of the labels. ${BEFORE}. Smaller is better.`,
  loss: `What training minimizes. ${BEFORE}. Smaller is better.`,
};

/** Shows the tiles of a model: `now` is the state of its stream, `metrics` the last answer of /metrics (or null). */
export function showTiles(model, history, now, metrics) {
  const found = scores(model.metrics);
  const main = ["accuracy", "rmse", "mae"].find((name) => found[name] != null) ?? "loss";
  const learned = "Rows that the model has learned. Each of them was predicted before it was learned.";
  tile("examples", "Rows learned", count(model.examples), `${rate(history.rate("learned"))} per second`, learned);
  tile("score", metricName(main), metric(main, found[main]), recently(main, model, history), abouts[main], "main");
  showBaseline(main, metrics);
  const pending = "Predictions with an id whose label has not arrived yet. Delay: by how much the loss would be lower (+) if each row were predicted when its label arrives.";
  tile("waiting", "Pending labels", count(now.waiting ?? model.waiting), costOfDelay(metrics) ?? "predicted, not labeled", pending);
  showLag(now.log ?? metrics?.log ?? {});
}

/** How much of the log a power cut would lose. */
export function showLag(log) {
  tile("lag", "Not on disk yet", count(log.lag), log.seq == null ? "records of the log" : `of ${count(log.seq)} records`, "Records of the server's log that are not on disk yet. A power cut would lose them. With durability disk, their requests have not been acknowledged yet.");
}

/** The constant answer and the share of its error that the model removes, both of the same moment. */
function showBaseline(main, metrics) {
  const [, baseline] = Object.entries(metrics?.baseline ?? {}).find(([one]) => one !== LAST_LABEL) ?? [];
  const [theirs, ours] = [scores(baseline)[main], scores(metrics?.progressive)[main]];
  if (theirs == null || ours == null) return removeTiles("baseline", "skill");
  const classes = main === "accuracy";
  const answer = classes ? "most frequent class" : "mean so far";
  tile("baseline", "Baseline", metric(main, theirs), answer, `${metricName(main)} of an answer that ignores the features: the ${answer}. A useful model is better.`);
  const error = (value) => (classes ? 1 - value : main === "rmse" ? value * value : value);
  const skill = 1 - error(ours) / error(theirs);
  if (!(error(theirs) > 0)) return removeTiles("skill");
  const what = classes ? "error" : main === "rmse" ? "squared error" : main === "mae" ? "absolute error" : "loss";
  tile("skill", "Skill", percent(skill), `${what} below the baseline's`, `Share of the baseline's ${what} that the model removes. 100% means no error is left; 0% or less means that the model is no better than the baseline.`, skill > 0 ? "good" : "");
}

/** The main metric over the latest rows, where moments have it. */
function recently(main, model, history) {
  const read = { accuracy: (moment) => (model.role === "champion" ? moment.error : null), rmse: (moment) => (model.loss === "squared" ? moment.by_model?.[model.name] : null), loss: (moment) => moment.by_model?.[model.name] }[main];
  const recent = read && history.recent(read, RECENT);
  if (!recent) return "over all rows";
  const value = { accuracy: 1 - recent.mean, rmse: Math.sqrt(recent.mean), loss: recent.mean }[main];
  return `${metric(main, value)} over the last ${count(recent.rows)} rows`;
}

/** The loss of predictions as they were served against that of predictions made when their labels arrived. */
function costOfDelay(metrics) {
  if (!metrics?.served || !(metrics.joined?.loss > 0)) return null;
  const cost = metrics.served.loss / metrics.joined.loss - 1;
  return `delay: loss ${cost < 0 ? "−" : "+"}${percent(Math.abs(cost))}`;
}

const find = (name) => byId("tiles").querySelector(`[data-name="${name}"]`);

function removeTiles(...names) {
  for (const name of names) find(name)?.remove();
}

/** Makes or changes a tile. The explanation belongs to the button, so that keyboards and screen readers reach it. */
export function tile(name, title, text, small, about, kind = "") {
  let made = find(name);
  if (!made) {
    const button = make("button", { type: "button", "aria-describedby": `about-${name}` });
    const parts = [make("b", {}), make("small", {}), make("span", { class: "tip", role: "tooltip", id: `about-${name}` })];
    made = make("div", { "data-name": name }, make("dt", {}, button), make("dd", {}, ...parts));
    button.addEventListener("keydown", (event) => event.key === "Escape" && button.blur());
    const order = ["examples", "score", "baseline", "skill", "waiting", "lag"];
    const next = order.slice(order.indexOf(name) + 1).map(find).find(Boolean);
    byId("tiles").insertBefore(made, next ?? null);
  }
  const classes = `tile ${kind}`.trim();
  if (made.className !== classes) made.className = classes;
  setText(made.querySelector("button"), title);
  setText(made.querySelector("b"), text);
  setText(made.querySelector("small"), small);
  setText(made.querySelector(".tip"), about);
}

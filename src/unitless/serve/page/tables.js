// The tables: models of the stream, effects of features, recent rows, and the explanation of one row.

import { bar, byId, make, table } from "./elements.js";
import { clock, count, metric, metricName, number, percent, scores, short, signed, value } from "./numbers.js";

const shown = ["mean_reward", "accuracy", "rmse", "auc", "mae", "r2", "loss"];
const members = { newton: "second order", snag: "sNAG" }; // others are called what the server calls them

/** The models of a stream, the champion first. */
export function showModels(box, models, chosen, choose, promote) {
  const known = (name) => models.some((model) => scores(model.metrics)[name] != null);
  const squared = models.every((model) => model.loss == null || model.loss === "squared"); // then the RMSE is the loss, in a unit that people know
  const names = shown.filter((name) => known(name) && !(name === "loss" && squared)).slice(0, 4);
  const columns = [{ title: "Model" }, { title: "Role" }, { title: "Model type" }, { title: "Rows learned", number: true }];
  columns.push(...names.map((name) => ({ title: metricName(name), number: true })), { title: "Promote", kind: "action" });
  const rank = { champion: 0, challenger: 1, shadow: 2 };
  const rows = [...models].sort((a, b) => rank[a.role] - rank[b.role]).map((model) => [
    model.status === "replaying" ? model.name : make("button", { type: "button", class: "link", "aria-current": model.name === chosen ? "true" : null, onclick: () => choose(model.name) }, model.name),
    make("span", { class: `role ${model.role}` }, model.role),
    model.status && model.status !== "ready" ? progress(model) : describe(model),
    count(model.examples),
    ...names.map((name) => metric(name, scores(model.metrics)[name])),
    model.role === "champion" || model.status === "replaying" ? "–" : make("button", { type: "button", class: "small", onclick: () => promote(model), "aria-label": `Promote ${model.name}` }, "Promote"),
  ]);
  keepFocus(box, () => box.replaceChildren(table("Models of this stream", columns, rows)));
}

function progress(model) {
  const made = make("progress", { max: "1", "aria-label": `${model.name} is ${model.status}` });
  if (model.progress != null) made.value = model.progress;
  return make("span", { class: "progress" }, `${model.status} `, made, model.progress == null ? "" : ` ${percent(model.progress)}`);
}

/** The model type, and the share that each member of an ensemble has in predictions. */
function describe(model) {
  const shares = Object.entries(model.members ?? {}).sort((a, b) => b[1] - a[1]);
  if (shares.length < 2) return model.model_type ?? "–";
  const parts = shares.map(([name, share]) => `${members[name] ?? name} ${Math.round(100 * share)}%`);
  return make("span", {}, model.model_type ?? "", make("small", {}, `ensemble: ${parts.join(", ")}`));
}

/** Replaces a table without moving the focus and the scroll position. */
function keepFocus(box, change) {
  const all = () => [...box.querySelectorAll("button")];
  const at = all().indexOf(document.activeElement);
  const moved = box.querySelector(".sideways")?.scrollLeft ?? 0;
  change();
  if (at >= 0) all()[at]?.focus({ preventScroll: true });
  if (moved) box.querySelector(".sideways").scrollLeft = moved;
}

/** The features by effect; for a new model, where to send rows. */
export function showEffects(box, features, address) {
  if (!features.length) {
    box.replaceChildren(make("p", { class: "quiet" }, `No row has been learned yet. Send rows to ${address}.`));
    return;
  }
  const size = (feature) => Math.abs(feature.effect ?? feature.weight ?? 0);
  const ranked = [...features].sort((a, b) => size(b) - size(a)).slice(0, 20);
  const most = size(ranked[0]) || 1;
  const total = features.reduce((sum, feature) => sum + size(feature), 0) || 1;
  const hasCoefficients = ranked.some((feature) => feature.weight != null); // with several classes, a feature has one per class
  const columns = [{ title: "Feature" }, { title: "Effect", kind: "bars" }, { title: "Share", number: true }, ...(hasCoefficients ? [{ title: "Coefficient", number: true }] : []), { title: "Scale", number: true }];
  const rows = ranked.map((feature) => [
    feature.feature,
    bar(size(feature) / most),
    percent(size(feature) / total),
    ...(hasCoefficients ? [feature.weight == null ? "–" : signed(feature.weight)] : []),
    short(number(feature.scale)),
  ]);
  const about = "Effect: how far a feature moves the prediction at most, in the unit of the score, so that features can be compared. Scale: the size of the feature's values.";
  box.replaceChildren(table("Effects of features", columns, rows), make("p", { class: "quiet" }, about));
}

/** The latest rows that were learned, each with a button that explains it. Numbers have an error, classes a loss. */
export function showRecent(box, examples, isNumber, explain) {
  if (!examples.length) {
    box.replaceChildren(make("p", { class: "quiet" }, "This table shows rows that were sent as JSON."));
    return;
  }
  const columns = [{ title: "Row" }, { title: "Time" }, { title: "Label", number: true }, { title: "Predicted", number: true }, { title: isNumber ? "Error" : "Loss", number: true }];
  const rows = examples.slice(0, 12).map((example) => [
    make("button", { type: "button", class: "link", onclick: () => explain(example), "aria-label": `Explain row ${count(example.seq)}` }, count(example.seq)),
    clock(example.time),
    value(example.label),
    value(example.prediction),
    isNumber ? error(example) : number(example.loss),
  ]);
  keepFocus(box, () => {
    box.replaceChildren(table("Recent rows", columns, rows), make("p", { class: "quiet" }, "Choose a row for an explanation of its prediction."));
  });
}

/** The error of a predicted number; its squared loss would be in a squared unit. */
function error(example) {
  const known = typeof example.prediction === "number" && typeof example.label === "number";
  return known ? signed(example.prediction - example.label) : "–";
}

/** Opens the explanation of a row: its facts at once, the contributions when the server has answered. */
export function showExplanation(example, isNumber, answer) {
  const box = byId("explain");
  byId("explain-title").textContent = `Row ${count(example.seq)}`;
  const facts = [["Label", value(example.label)], ["Predicted before it was learned", value(example.prediction)], isNumber ? ["Error", error(example)] : ["Loss", number(example.loss)], ["Time", clock(example.time)], ["Id", example.id]];
  const list = make("dl", { class: "pairs" }, ...facts.filter(([, text]) => text != null).map(([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text))));
  const status = make("div", { role: "status" }, make("p", { class: "quiet" }, "Loading…"));
  box.replaceChildren(list, status);
  byId("explain-dialog").showModal();
  answer.then(
    (found) => status.replaceChildren(...contributions(found, example)),
    (error) => status.replaceChildren(make("p", { class: "note" }, error.message)),
  );
}

function contributions(found, example) {
  const parts = [...found.contributions].sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
  const most = Math.max(...parts.map((part) => Math.abs(part.contribution)), Math.abs(found.base_value ?? 0)) || 1;
  const rows = parts.slice(0, 30).map((part) => [part.column, value(part.value), bar(part.contribution / most, true), signed(part.contribution)]);
  if (found.base_value != null) rows.push(["base value", "", bar(found.base_value / most, true), signed(found.base_value)]);
  const columns = [{ title: "Column" }, { title: "Value", number: true }, { title: "Less ← → more", kind: "bars" }, { title: "Adds", number: true }];
  const left = Math.max(parts.length - 30, 0) + (example.left_out ?? 0);
  return [
    make("p", {}, "The current model predicts ", make("b", {}, value(found.prediction)), `. Its score${found.label == null ? "" : ` of ${value(found.label)}`}, ${number(found.score)}, is the sum of these contributions:`),
    table("What each column adds to the score", columns, rows),
    left ? make("p", { class: "quiet" }, `${count(left)} more columns are not shown.`) : "",
  ];
}

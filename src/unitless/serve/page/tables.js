// The tables: models of the stream, importance of features, recent examples, and the explanation of one.

import { bar, byId, make, table } from "./elements.js";
import { clock, count, metric, metricName, number, percent, scores, signed, value } from "./numbers.js";

const shown = ["accuracy", "rmse", "auc", "mae", "r2", "loss"];
const members = { trees: "curves and trees", newton: "second order", forgetting: "forgetting second order", snag: "sNAG" };

/** The models of a stream, the champion first. */
export function showModels(box, models, chosen, choose, promote) {
  const names = shown.filter((name) => models.some((model) => scores(model.metrics)[name] != null)).slice(0, 4);
  const columns = [{ title: "Model" }, { title: "Role" }, { title: "Model type" }, { title: "Examples", number: true }];
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

function describe(model) {
  const shares = Object.entries(model.members ?? {}).sort((a, b) => b[1] - a[1]);
  if (shares.length < 2) return model.model_type ?? "–";
  return make("span", { title: shares.map(([name, share]) => `${members[name] ?? name} ${percent(share)}`).join(", ") }, `${model.model_type ?? ""} (${members[shares[0][0]] ?? shares[0][0]} ${Math.round(100 * shares[0][1])} %)`);
}

/** A table that is made anew keeps the focus where it was. */
function keepFocus(box, change) {
  const all = () => [...box.querySelectorAll("button")];
  const at = all().indexOf(document.activeElement);
  const moved = box.querySelector(".sideways")?.scrollLeft ?? 0;
  change();
  if (at >= 0) all()[at]?.focus({ preventScroll: true });
  if (moved) box.querySelector(".sideways").scrollLeft = moved;
}

/** What the model listens to; if it has heard nothing yet, where to send rows. */
export function showImportance(box, features, address) {
  if (!features.length) {
    box.replaceChildren(make("p", { class: "quiet" }, `Nothing has been learned yet. Rows are sent to ${address}.`));
    return;
  }
  const size = (feature) => Math.abs(feature.importance ?? feature.weight ?? 0);
  const ranked = [...features].sort((a, b) => size(b) - size(a)).slice(0, 20);
  const most = size(ranked[0]) || 1;
  const total = features.reduce((sum, feature) => sum + size(feature), 0) || 1;
  const weighed = ranked.some((feature) => feature.weight != null); // of several classes there are several weights
  const columns = [{ title: "Feature" }, { title: "Importance", kind: "bars" }, { title: "Share", number: true }, ...(weighed ? [{ title: "Weight", number: true }] : []), { title: "Scale", number: true }];
  const rows = ranked.map((feature) => [
    feature.feature,
    bar(size(feature) / most),
    percent(size(feature) / total),
    ...(weighed ? [feature.weight == null ? "–" : signed(feature.weight)] : []),
    number(feature.scale),
  ]);
  box.replaceChildren(table("Importance of features", columns, rows));
}

/** The last rows that were learned; each can be explained. */
export function showRecent(box, examples, explain) {
  if (!examples.length) {
    box.replaceChildren(make("p", { class: "quiet" }, "Rows that are learned from JSON are shown here."));
    return;
  }
  const columns = [{ title: "Row" }, { title: "Time" }, { title: "Label", number: true }, { title: "Predicted", number: true }, { title: "Loss", number: true }];
  const rows = examples.slice(0, 12).map((example) => [
    make("button", { type: "button", class: "link", onclick: () => explain(example), "aria-label": `Explain row ${count(example.seq)}` }, count(example.seq)),
    clock(example.time),
    value(example.label),
    value(example.prediction),
    number(example.loss),
  ]);
  keepFocus(box, () => {
    box.replaceChildren(table("Recent examples", columns, rows), make("p", { class: "quiet" }, "Choose a row to see why it was predicted so."));
  });
}

/** Opens the explanation of a row: what is known of it at once, the contributions when they come. */
export function showExplanation(example, asked) {
  const box = byId("explain");
  byId("explain-title").textContent = `Row ${count(example.seq)}`;
  const facts = [["Label", value(example.label)], ["Predicted before", value(example.prediction)], ["Loss", number(example.loss)], ["Time", clock(example.time)], ["Id", example.id]];
  const list = make("dl", { class: "pairs" }, ...facts.filter(([, text]) => text != null).map(([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text))));
  const answer = make("div", { role: "status" }, make("p", { class: "quiet" }, "The model is asked…"));
  box.replaceChildren(list, answer);
  byId("explain-dialog").showModal();
  asked.then(
    (found) => answer.replaceChildren(...contributions(found, example)),
    (error) => answer.replaceChildren(make("p", { class: "note" }, error.message)),
  );
}

function contributions(found, example) {
  const parts = [...found.contributions].sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
  const most = Math.max(...parts.map((part) => Math.abs(part.contribution)), Math.abs(found.bias ?? 0)) || 1;
  const rows = parts.slice(0, 30).map((part) => [part.feature, value(part.value), bar(part.contribution / most, true), signed(part.contribution)]);
  if (found.bias != null) rows.push(["bias", "", bar(found.bias / most, true), signed(found.bias)]);
  const columns = [{ title: "Feature" }, { title: "Value", number: true }, { title: "Less ← → more", kind: "bars" }, { title: "Adds", number: true }];
  const left = Math.max(parts.length - 30, 0) + (example.left_out ?? 0);
  return [
    make("p", {}, "The model as it is now predicts ", make("b", {}, value(found.prediction)), `. Its score${found.label == null ? "" : ` of ${value(found.label)}`}, ${number(found.score)}, is the sum of:`),
    table("What each feature adds to the score", columns, rows),
    left ? make("p", { class: "quiet" }, `${count(left)} more features are not shown.`) : "",
  ];
}

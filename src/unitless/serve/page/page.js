// The live page: which model it shows, what the server sends about the model, and where that is shown.

import { get, post, readEvents } from "./api.js";
import { rewardLines, showActions, showBanditTiles } from "./bandit.js";
import { Chart, lineColor } from "./charts.js";
import { curve, steps } from "./curves.js";
import { byId, make, setText } from "./elements.js";
import { History, SMOOTH } from "./history.js";
import { bytes, clock, count, duration, number, percent, rate, scores, value } from "./numbers.js";
import { showExplanation, showEffects, showModels, showRecent } from "./tables.js";
import { showTiles } from "./tiles.js";

/** Commands for a terminal that create a model and send it a row. */
function commands() {
  const model = new URL("v1/models/houses", document.baseURI);
  const token = sessionStorage.getItem("token") ? ' -H "Authorization: Bearer $TOKEN"' : "";
  return `curl${token} -X PUT ${model} --json '{}'
curl${token} ${model}/learn --json \\
  '{"features": {"area": 120, "age": 15, "town": "Ulm"}, "label": 410000}'`;
}

const state = {
  models: [], // summaries of all models
  chosen: null, // the name of the model that the page shows
  range: "seconds",
  history: new History(),
  metrics: null, // the last answer of /metrics
  now: null, // the state of the stream, from the last moment
  recent: [],
};
let watching = null; // ends the connection that shows a model
let lost = 0; // failed attempts to connect, one after the other
let everConnected = false;

const BEFORE = `mean of ${SMOOTH} seconds, each row predicted before it was learned`;

const charts = {
  loss: new Chart({ title: "Loss", about: "", format: number, robust: true, always: true }),
  accuracy: new Chart({ title: "Accuracy", about: `${BEFORE}; larger is better`, format: percent, most: 1 }),
  throughput: new Chart({ title: "Throughput", about: "rows per second", format: rate, tick: (value) => number(value, 2), zero: true, always: true }),
  drift: new Chart({ title: "Drift", about: "loss compared with all rows; 1 is usual", format: number, level: 1, robust: true }),
  scales: new Chart({ title: "Scales that grew", about: "features with a value larger than all before", format: count, zero: true, bars: true, whole: true }),
  delay: new Chart({ title: "Delay of labels", about: "from a prediction to its label", format: duration, log: true }),
  life: new Chart({ title: "Since the beginning", about: "", format: number, robust: true, byRows: true }),
};

// --- showing -----------------------------------------------------------------------------------------------------

const isBandit = () => chosenModel()?.task === "bandit";
const chosenModel = () => state.models.find((model) => model.name === state.chosen);
const streamOf = (name) => state.models.find((model) => model.name === name)?.stream;

/** The address of information about a model. The name of a stream alone would mean its champion. */
function addressOf(name, what, more = "") {
  return `v1/models/${streamOf(name) ?? name}/${what}?model=${name}${more}`;
}

/** The models of the stream that the page shows, with the latest numbers. */
function modelsOfStream() {
  const stream = streamOf(state.chosen);
  const latest = new Map((state.now?.models ?? state.metrics?.models ?? []).map((model) => [model.name, model]));
  return state.models.filter((model) => model.stream === stream).map((model) => ({ ...model, ...latest.get(model.name), role: model.role }));
}

function connection(kind, text) {
  const box = byId("connection");
  box.dataset.state = kind;
  setText(box.lastElementChild, text);
}

function show(section) {
  byId("empty").hidden = section !== "empty";
  byId("watched").hidden = section !== "watched";
  byId("choice").hidden = section !== "watched";
}

function showChoice() {
  const select = byId("model");
  const streams = new Map();
  for (const model of state.models) streams.set(model.stream, [...(streams.get(model.stream) ?? []), model]);
  const key = JSON.stringify([...streams].map(([name, models]) => [name, models.map((model) => [model.name, model.role, model.status])]));
  if (select.dataset.key !== key) {
    const option = (model) => make("option", { value: model.name, disabled: model.status === "replaying" }, model.role === "champion" ? model.name : `${model.name} (${model.role})`);
    const group = ([name, models]) => (models.length === 1 ? option(models[0]) : make("optgroup", { label: `stream ${name}` }, ...models.map(option)));
    select.replaceChildren(...[...streams].map(group));
    select.dataset.key = key;
  }
  select.value = state.chosen;
}

function showTitle(model) {
  setText(byId("name"), model.name);
  document.title = `${model.name} · unitless`;
  const classes = model.classes ? (model.classes.length > 4 ? `${model.classes.length} classes` : `classes ${model.classes.join(", ")}`) : null;
  const stream = model.stream === model.name ? null : `stream ${model.stream}`;
  const words = [model.role, stream, model.task, model.loss && `${model.loss} loss`, model.model_type && `model type ${model.model_type}`, classes, model.bytes && bytes(model.bytes)];
  setText(byId("facts"), words.filter(Boolean).join(" · "));
  const notes = model.notes ?? [];
  if (byId("notes").dataset.key !== notes.join("\n")) {
    byId("notes").dataset.key = notes.join("\n");
    byId("notes").replaceChildren(...notes.map((note) => make("p", { class: "note" }, note)));
  }
}

let announcedAt = 0;

/** Tells screen readers how the model stands, in one sentence and at most twice a minute. */
function announce(model) {
  if (Date.now() - announcedAt < 30000) return;
  announcedAt = Date.now();
  const { accuracy, rmse } = scores(model.metrics);
  const score = accuracy != null ? `, accuracy ${percent(accuracy)}` : rmse != null ? `, RMSE ${number(rmse)}` : "";
  if (isBandit()) return setText(byId("spoken"), `${model.name}: ${count(model.examples)} rewards learned, average reward ${number(model.metrics?.mean_reward)}.`);
  setText(byId("spoken"), `${model.name}: ${count(model.examples)} rows learned, loss ${number(model.metrics?.loss)}${score}.`);
}

/** Names the charts of the loss, and gives a function for its values: a squared loss becomes the RMSE, in the unit of the labels. */
function inUnitOfLabels(models) {
  const squared = models.length > 0 && models.every((model) => model.loss === "squared");
  charts.loss.rename(squared ? "RMSE" : "Loss", `${BEFORE}; smaller is better`);
  charts.life.rename("Since the beginning", `${squared ? "RMSE" : "loss"} by the number of rows learned`);
  return (values) => (squared ? values.map((value) => (value == null ? null : Math.sqrt(value))) : values);
}

function showCharts() {
  const { history, range } = state;
  const models = modelsOfStream();
  const units = inUnitOfLabels(models);
  const champion = models.find((model) => model.role === "champion")?.name ?? state.chosen;
  const x = history.column(range, (moment) => moment.time);
  const between = history.between(range);
  const perSecond = range === "seconds" ? 1 : 60;
  const ordered = [...models].sort((a, b) => (b.name === champion) - (a.name === champion));
  const losses = ordered.map((model, k) => ({ name: model.name, color: lineColor(k), values: units(history.smooth(range, (moment) => moment.by_model?.[model.name])) }));
  const total = { name: `${champion}, all rows`, color: lineColor(0), thin: true, dashed: true, values: units(history.column(range, (moment) => moment.total_loss)) };
  const bandit = isBandit();
  if (bandit) charts.loss.rename("Average reward", `mean of ${SMOOTH} seconds, and the estimated values of simpler policies; larger is better`);
  charts.throughput.rename("Throughput", bandit ? "decisions and rewards per second" : "rows per second");
  charts.delay.rename(...(bandit ? ["Delay of rewards", "from a decision to its reward"] : ["Delay of labels", "from a prediction to its label"]));
  charts.loss.update(x, bandit ? rewardLines(champion, history, range, lineColor) : [...losses, total], between);
  const right = (moment) => (moment.error == null ? null : 1 - moment.error);
  charts.accuracy.update(x, [{ name: champion, color: lineColor(0), values: history.smooth(range, right) }], between);
  charts.throughput.update(
    x,
    [
      { name: bandit ? "rewards" : "learned", color: lineColor(0), values: history.steady(range, (moment) => moment.learned / perSecond) },
      { name: bandit ? "decisions" : "predicted", color: lineColor(1), values: history.steady(range, (moment) => moment.predicted / perSecond) },
    ],
    between,
  );
  charts.drift.update(x, [{ name: champion, color: lineColor(0), values: history.smooth(range, (moment) => (bandit ? null : moment.drift)) }], between);
  const [times, growths] = history.grouped(range, (moment) => moment.scale_growth, 10);
  charts.scales.update(times, [{ name: range === "seconds" ? "in 10 seconds" : "in 10 minutes", color: lineColor(3), values: growths }], between);
  charts.delay.update(
    x,
    [
      { name: "median", color: lineColor(0), thin: true, values: history.column(range, (moment) => moment.delay_p50) },
      { name: "99th percentile", color: lineColor(1), thin: true, values: history.column(range, (moment) => moment.delay_p99) },
    ],
    between,
  );
  const points = (state.metrics?.curve ?? []).filter((point) => point[0] > 0);
  charts.life.update(
    points.map((point) => point[0]),
    [
      { name: "since the last point", color: lineColor(0), values: units(points.map((point) => point[2])) },
      { name: "all rows", color: lineColor(0), thin: true, dashed: true, values: units(points.map((point) => point[1])) },
    ],
  );
}

function showRecentRows() {
  showRecent(byId("recent"), state.recent, chosenModel()?.task === "regression", explain);
}

function showCurves(curves) {
  byId("curves-part").hidden = !curves.length;
  byId("curves").replaceChildren(...curves.slice(0, 24).map((one) => (one.text ? steps(one.feature, one.x, one.y) : curve(one.feature, one.x, one.y, value))));
}

/** Draws everything that the latest moment may have changed. */
function draw() {
  const model = modelsOfStream().find((one) => one.name === state.chosen);
  if (!model) return;
  showTitle(model);
  byId("actions-part").hidden = !isBandit();
  byId("columns").hidden = isBandit();
  (isBandit() ? showBanditTiles : showTiles)(model, state.history, state.now ?? state.metrics ?? {}, state.metrics);
  if (isBandit()) showActions(byId("actions"), state.now?.bandit ?? state.metrics?.bandit);
  showCharts();
  announce(model);
  showModels(byId("models"), modelsOfStream(), state.chosen, choose, promote);
}

let frame = 0; // the next redraw; browsers draw a hidden page when it becomes visible

function drawSoon() {
  if (!frame) frame = requestAnimationFrame(() => ((frame = 0), draw()));
}

// --- actions --------------------------------------------------------------------------------------------------

function choose(name) {
  if (name === state.chosen) return;
  history.replaceState(null, "", `#${name}`);
  watching?.abort();
}

function explain(example) {
  showExplanation(example, chosenModel()?.task === "regression", post(addressOf(state.chosen, "explain"), { features: example.features }));
}

function promote(model) {
  const dialog = byId("promote-dialog");
  const champion = modelsOfStream().find((one) => one.role === "champion")?.name;
  byId("promote-title").textContent = `Promote ${model.name}?`;
  byId("promote-text").textContent = `Afterwards ${model.name} answers for the stream ${model.stream}, and ${champion} continues as a challenger. To undo this, promote ${champion}.`;
  dialog.returnValue = "no";
  const closed = async () => {
    if (dialog.returnValue !== "yes") return;
    try {
      await post(`v1/models/${model.name}/promote`);
      await refreshModels();
      showNote(`${model.name} is the champion now.`);
    } catch (error) {
      showNote(error.status === 403 ? "Your token may not promote models; that needs the role admin." : error.message);
    }
  };
  dialog.addEventListener("close", closed, { once: true });
  dialog.showModal();
}

function showNote(text) {
  const note = make("p", { class: "note passing", role: "status" }, text);
  byId("notes").before(note);
  setTimeout(() => note.remove(), 12000);
}

// --- the server ----------------------------------------------------------------------------------------------

async function refreshModels() {
  const answer = await get("v1/models");
  state.models = answer.models;
  const { version, started, durability, replica } = answer.server ?? {};
  const words = [version && `unitless ${version}`, started && `since ${new Date(started * 1000).toLocaleDateString("en")} ${clock(started, false)}`, durability && `durability ${durability}`, answer.quarantined?.length && `not recovered: ${answer.quarantined.map((one) => one.name).join(", ")}`, replica && "replica: predicts, does not learn"];
  setText(byId("about"), words.filter(Boolean).join(" · "));
  if (state.chosen) showChoice();
  drawSoon();
}

async function refreshWeights(name, signal) {
  if (isBandit()) return;
  const { features, curves } = await get(addressOf(name, "weights", "&most=100"), signal);
  if (signal.aborted) return;
  showEffects(byId("effects"), features ?? [], new URL(`v1/models/${streamOf(name) ?? name}/learn`, document.baseURI));
  showCurves(curves ?? []);
}

async function refreshMetrics(name, signal) {
  const metrics = await get(addressOf(name, "metrics"), signal);
  if (signal.aborted) return;
  state.metrics = metrics;
  state.history.merge("seconds", metrics.moments?.seconds ?? []);
  state.history.merge("minutes", metrics.moments?.minutes ?? []);
  state.recent = metrics.recent ?? [];
  showRecentRows();
  draw();
}

const take = {
  moment(moment) {
    state.now = moment.now ?? state.now;
    if (Object.keys(state.now?.replaying ?? {}).some((name) => !streamOf(name))) refreshModels().catch(() => {});
    state.history.add(moment);
    drawSoon();
  },
  example(example) {
    state.recent = [example, ...state.recent].slice(0, 50);
    state.newExamples = true;
  },
  models() {
    refreshModels().catch(() => {});
  },
  note(note) {
    showNote(note.text);
  },
};

/** Shows one model until another is chosen (returns) or the connection ends (throws). */
async function watch(name) {
  const stop = (watching = new AbortController());
  if (state.chosen == null || streamOf(state.chosen) !== streamOf(name)) state.history = new History();
  if (state.chosen !== name) Object.assign(state, { metrics: null, now: null, recent: [] });
  state.chosen = name;
  showChoice();
  show("watched");
  const { signal } = stop;
  const failed = (error) => {
    if (error.status === 404) stop.abort();
  };
  const begun = () => {
    if (lost && everConnected) showNote("Connected again.");
    lost = 0;
    everConnected = true;
    connection("live", "Live");
    refreshMetrics(name, signal).catch(failed);
    refreshWeights(name, signal).catch(failed);
  };
  // The tables change more slowly than the charts, so that people can read them.
  const timers = [
    setInterval(() => state.newExamples && !byId("explain-dialog").open && ((state.newExamples = false), showRecentRows()), 1500),
    setInterval(() => document.hidden || refreshWeights(name, signal).catch(failed), 20000), // expensive for the server
    setInterval(() => state.models.some((model) => model.status !== "ready") && refreshModels().catch(() => {}), 2000),
    setInterval(() => document.hidden || Promise.all([refreshModels(), refreshMetrics(name, signal)]).catch(failed), 30000),
  ];
  try {
    await readEvents(addressOf(name, "events"), signal, begun, (event, data) => take[event]?.(data));
    throw new Error("The connection ended.");
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    stop.abort();
    timers.forEach(clearInterval);
  }
}

/** The model that the address names, or the champion that has learned the most rows. */
function wanted() {
  const name = decodeURIComponent(location.hash.slice(1));
  const ready = state.models.filter((model) => model.status !== "replaying");
  const named = ready.find((model) => model.name === name) ?? ready.find((model) => model.name === state.chosen);
  const champions = ready.filter((model) => model.role === "champion").sort((a, b) => b.examples - a.examples);
  return (named ?? champions[0] ?? ready[0])?.name;
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function run() {
  for (;;) {
    try {
      await refreshModels();
      if (state.models.length) {
        await watch(wanted());
      } else {
        state.chosen = null;
        document.title = "unitless";
        setText(byId("create"), commands());
        show("empty");
        connection("live", "Live");
        lost = 0;
        await pause(1500);
      }
    } catch (error) {
      if (error.status === 404) {
        history.replaceState(null, "", location.pathname);
        state.chosen = null;
        await pause(500);
        continue;
      }
      lost += 1;
      connection("lost", everConnected ? "Connection lost, trying again" : "Cannot connect, trying again");
      await pause(Math.min(500 * 1.6 ** (lost - 1), 5000));
    }
  }
}

function chooseTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  byId("theme").addEventListener("click", () => {
    const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // Without storage the choice lasts until the page is loaded again.
    }
    drawSoon();
  });
  dark.addEventListener("change", drawSoon);
}

byId("copy").addEventListener("click", () => navigator.clipboard?.writeText(commands()).then(() => setText(byId("copy"), "Copied")));
byId("charts").append(...Object.values(charts).map((chart) => chart.element));
byId("model").addEventListener("change", (event) => choose(event.target.value));
addEventListener("hashchange", () => watching?.abort());
for (const input of document.querySelectorAll("input[name=range]")) {
  input.addEventListener("change", () => ((state.range = input.value), drawSoon()));
}
chooseTheme();
run();

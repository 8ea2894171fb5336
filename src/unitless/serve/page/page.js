// The live page: which model is looked at, what the server says about it, and where it is shown.

import { follow, get, post } from "./api.js";
import { Chart, colour } from "./charts.js";
import { curve, steps } from "./curves.js";
import { byId, make, say } from "./elements.js";
import { History } from "./history.js";
import { bytes, clock, count, duration, metric, metricName, number, percent, rate, scores, value } from "./numbers.js";
import { showExplanation, showImportance, showModels, showRecent } from "./tables.js";

/** Commands for the terminal that make a model and teach it a row. */
function commands() {
  const model = new URL("v1/models/houses", document.baseURI);
  const token = sessionStorage.getItem("token") ? ' -H "Authorization: Bearer $TOKEN"' : "";
  return `curl${token} -X PUT ${model} --json '{}'
curl${token} ${model}/learn --json \\
  '{"features": {"area": 120, "age": 15, "town": "Ulm"}, "label": 410000}'`;
}

const state = {
  models: [], // summaries of all models
  chosen: null, // the name of the model that is looked at
  range: "seconds",
  history: new History(),
  metrics: null, // the last answer of /metrics
  now: null, // how the stream stands, as the last moment said
  recent: [],
};
let watching = null; // stops looking at a model
let lost = 0; // how often connecting failed in a row
let everConnected = false;

const charts = {
  loss: new Chart({ title: "Loss", about: "before each row was learned; less is better", format: number, robust: true, always: true }),
  accuracy: new Chart({ title: "Accuracy", about: "of the champion, before each row was learned", format: percent, most: 1 }),
  throughput: new Chart({ title: "Throughput", about: "rows per second", format: rate, tick: (value) => number(value, 2), zero: true, always: true }),
  drift: new Chart({ title: "Drift", about: "loss against its long-run mean", format: number, level: 1, robust: true }),
  scales: new Chart({ title: "Scales that grew", about: "features that were larger than ever before", format: count, zero: true, bars: true, whole: true }),
  delay: new Chart({ title: "Delay of labels", about: "from a prediction to its label", format: duration, log: true }),
  life: new Chart({ title: "Since the beginning", about: "loss by the number of examples", format: number, robust: true, examples: true }),
};

// --- what is shown -----------------------------------------------------------------------------------------------------

const streamOf = (name) => state.models.find((model) => model.name === name)?.stream;

/** The address of something about a model. The name of a stream alone would mean its champion. */
function about(name, what, more = "") {
  return `v1/models/${streamOf(name) ?? name}/${what}?model=${name}${more}`;
}

/** The models of the stream that is looked at, with the latest numbers. */
function companions() {
  const stream = streamOf(state.chosen);
  const latest = new Map((state.now?.models ?? state.metrics?.models ?? []).map((model) => [model.name, model]));
  return state.models.filter((model) => model.stream === stream).map((model) => ({ ...model, ...latest.get(model.name), role: model.role }));
}

function connection(kind, text) {
  const box = byId("connection");
  box.dataset.state = kind;
  say(box.lastElementChild, text);
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
  say(byId("name"), model.name);
  document.title = `${model.name} · unitless`;
  const classes = model.classes ? (model.classes.length > 4 ? `${model.classes.length} classes` : model.classes.join(", ")) : null;
  const beside = model.stream === model.name ? null : `of the stream ${model.stream}`;
  const words = [model.role, beside, model.task, model.loss && `${model.loss} loss`, model.model_type, classes, model.bytes && bytes(model.bytes)];
  const text = words.filter(Boolean).join(" · ");
  if (byId("facts").textContent !== text) byId("facts").replaceChildren(text);
  const notes = model.notes ?? [];
  if (byId("notes").dataset.key !== notes.join("\n")) {
    byId("notes").dataset.key = notes.join("\n");
    byId("notes").replaceChildren(...notes.map((note) => make("p", { class: "note" }, note)));
  }
}

/** Finds or makes a tile, and gives what fills it. */
function tile(name) {
  const box = byId("tiles");
  let made = box.querySelector(`[data-name="${name}"]`);
  if (!made) {
    made = make("div", { class: "tile", "data-name": name }, make("dt", {}), make("dd", {}, make("b", {}), make("small", {})));
    box.append(made);
  }
  return (title, text, small) => {
    say(made.querySelector("dt"), title);
    say(made.querySelector("b"), text);
    say(made.querySelector("small"), small ?? "");
  };
}

function showTiles(model) {
  const { history, metrics } = state;
  const now = state.now ?? metrics ?? {};
  const found = scores(model.metrics);
  const recently = (read) => history.smooth("seconds", read).at(-1);
  const loss = recently((moment) => moment.by_model?.[model.name]);
  const main = ["accuracy", "rmse", "mae"].find((name) => found[name] != null);
  const wrong = model.role === "champion" ? recently((moment) => moment.error) : null;
  const log = now.log ?? metrics?.log ?? {};
  tile("examples")("Examples", count(model.examples), "learned");
  tile("rate")("Rows per second", rate(history.rate("learned")), `${rate(history.rate("predicted"))} predicted`);
  const recent = main === "accuracy" && wrong != null ? 1 - wrong : main === "rmse" && loss != null && model.loss === "squared" ? Math.sqrt(loss) : null;
  if (main) tile("score")(metricName(main), metric(main, found[main]), recent == null ? "of all examples" : `${metric(main, recent)} recently`);
  else byId("tiles").querySelector('[data-name="score"]')?.remove();
  tile("loss")("Loss", number(found.loss), loss == null ? "of all examples" : `${number(loss)} recently`);
  tile("waiting")("Waiting labels", count(now.waiting ?? model.waiting), delayed(metrics) ?? "predicted, label to come");
  tile("lag")("Log lag", count(log.lag), log.seq == null ? "rows not on disk yet" : `rows, of ${count(log.seq)}`);
}

/** What it costs that labels come late: the loss of what was served beside that of predictions at learning time. */
function delayed(metrics) {
  if (!metrics?.served || !(metrics.joined?.loss > 0)) return null;
  const cost = metrics.served.loss / metrics.joined.loss - 1;
  return `delay: loss ${cost < 0 ? "−" : "+"}${percent(Math.abs(cost))}`;
}

let spokenAt = 0;

/** What a screen reader says: rarely, and in one sentence. */
function speak(model) {
  if (Date.now() - spokenAt < 30000) return;
  spokenAt = Date.now();
  const { accuracy, rmse } = scores(model.metrics);
  const score = accuracy != null ? `, accuracy ${percent(accuracy)}` : rmse != null ? `, RMSE ${number(rmse)}` : "";
  say(byId("spoken"), `${model.name}: ${count(model.examples)} examples, loss ${number(model.metrics?.loss)}${score}.`);
}

/** Of squared losses the root of their mean, the RMSE, which is in the unit of the labels; other losses as they are. */
function inUnits(models) {
  const squared = models.length > 0 && models.every((model) => model.loss === "squared");
  charts.loss.rename(squared ? "RMSE" : "Loss", "before each row was learned; less is better");
  charts.life.rename("Since the beginning", `${squared ? "RMSE" : "loss"} by the number of examples`);
  return (values) => (squared ? values.map((value) => (value == null ? null : Math.sqrt(value))) : values);
}

function showCharts() {
  const { history, range } = state;
  const models = companions();
  const units = inUnits(models);
  const champion = models.find((model) => model.role === "champion")?.name ?? state.chosen;
  const x = history.column(range, (moment) => moment.time);
  const between = history.between(range);
  const perSecond = range === "seconds" ? 1 : 60;
  const ordered = [...models].sort((a, b) => (b.name === champion) - (a.name === champion));
  const losses = ordered.map((model, k) => ({ name: model.name, colour: colour(k), values: units(history.smooth(range, (moment) => moment.by_model?.[model.name])) }));
  const total = { name: `${champion}, all examples`, colour: colour(0), thin: true, dashed: true, values: units(history.column(range, (moment) => moment.total_loss)) };
  charts.loss.update(x, [...losses, total], between);
  const right = (moment) => (moment.error == null ? null : 1 - moment.error);
  charts.accuracy.update(x, [{ name: champion, colour: colour(0), values: history.smooth(range, right) }], between);
  charts.throughput.update(
    x,
    [
      { name: "learned", colour: colour(0), values: history.steady(range, (moment) => moment.learned / perSecond) },
      { name: "predicted", colour: colour(1), values: history.steady(range, (moment) => moment.predicted / perSecond) },
    ],
    between,
  );
  charts.drift.update(x, [{ name: champion, colour: colour(0), values: history.smooth(range, (moment) => moment.drift) }], between);
  const [times, growths] = history.grouped(range, (moment) => moment.scale_growth, 10);
  charts.scales.update(times, [{ name: range === "seconds" ? "in 10 seconds" : "in 10 minutes", colour: colour(3), values: growths }], between);
  charts.delay.update(
    x,
    [
      { name: "half within", colour: colour(0), thin: true, values: history.column(range, (moment) => moment.delay_p50) },
      { name: "99 % within", colour: colour(1), thin: true, values: history.column(range, (moment) => moment.delay_p99) },
    ],
    between,
  );
  const points = (state.metrics?.curve ?? []).filter((point) => point[0] > 0);
  charts.life.update(
    points.map((point) => point[0]),
    [
      { name: "since the point before", colour: colour(0), values: units(points.map((point) => point[2])) },
      { name: "all until then", colour: colour(0), thin: true, dashed: true, values: units(points.map((point) => point[1])) },
    ],
  );
}

function showCurves(curves) {
  byId("curves-part").hidden = !curves.length;
  byId("curves").replaceChildren(...curves.slice(0, 24).map((one) => (one.text ? steps(one.feature, one.x, one.y) : curve(one.feature, one.x, one.y, value))));
}

/** Everything that the latest moment may have changed. */
function draw() {
  const model = companions().find((one) => one.name === state.chosen);
  if (!model) return;
  showTitle(model);
  showTiles(model);
  showCharts();
  speak(model);
  showModels(byId("models"), companions(), state.chosen, choose, promote);
}

let asked = 0; // redraws that were asked for; a hidden page draws when it is seen again

function drawSoon() {
  if (!asked) asked = requestAnimationFrame(() => ((asked = 0), draw()));
}

// --- what can be done --------------------------------------------------------------------------------------------------

function choose(name) {
  if (name === state.chosen) return;
  history.replaceState(null, "", `#${name}`);
  watching?.abort();
}

function explain(example) {
  showExplanation(example, post(about(state.chosen, "explain"), { features: example.features }));
}

function promote(model) {
  const dialog = byId("promote-dialog");
  const champion = companions().find((one) => one.role === "champion")?.name;
  byId("promote-title").textContent = `Promote ${model.name}?`;
  byId("promote-text").textContent = `From then on ${model.name} answers for the stream ${model.stream}. ${champion} stays beside it as a challenger. Promote ${champion} to go back.`;
  dialog.returnValue = "no";
  const answered = async () => {
    if (dialog.returnValue !== "yes") return;
    try {
      await post(`v1/models/${model.name}/promote`);
      await refreshModels();
      tellNote(`${model.name} is the champion now.`);
    } catch (error) {
      tellNote(error.status === 403 ? "Your token may not promote models: that takes the role admin." : error.message);
    }
  };
  dialog.addEventListener("close", answered, { once: true });
  dialog.showModal();
}

function tellNote(text) {
  const note = make("p", { class: "note passing", role: "status" }, text);
  byId("notes").before(note);
  setTimeout(() => note.remove(), 12000);
}

// --- what the server says ----------------------------------------------------------------------------------------------

async function refreshModels() {
  const answer = await get("v1/models");
  state.models = answer.models;
  const { version, started, durability, replica } = answer.server ?? {};
  const words = [version && `unitless ${version}`, started && `since ${new Date(started * 1000).toLocaleDateString("en")} ${clock(started, false)}`, durability && `durability ${durability}`, answer.quarantined?.length && `not recovered: ${answer.quarantined.map((one) => one.name).join(", ")}`, replica && "replica: it only predicts"];
  say(byId("about"), words.filter(Boolean).join(" · "));
  if (state.chosen) showChoice();
  drawSoon();
}

async function refreshWeights(name, signal) {
  const { features, curves } = await get(about(name, "weights", "&most=100"), signal);
  if (signal.aborted) return;
  showImportance(byId("importance"), features ?? [], new URL(`v1/models/${streamOf(name) ?? name}/learn`, document.baseURI));
  showCurves(curves ?? []);
}

async function refreshMetrics(name, signal) {
  const metrics = await get(about(name, "metrics"), signal);
  if (signal.aborted) return;
  state.metrics = metrics;
  state.history.merge("seconds", metrics.moments?.seconds ?? []);
  state.history.merge("minutes", metrics.moments?.minutes ?? []);
  state.recent = metrics.recent ?? [];
  showRecent(byId("recent"), state.recent, explain);
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
    tellNote(note.text);
  },
};

/** Looks at one model until another is chosen (returns) or the connection ends (throws). */
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
    if (lost && everConnected) tellNote("Connected again.");
    lost = 0;
    everConnected = true;
    connection("live", "Live");
    refreshMetrics(name, signal).catch(failed);
    refreshWeights(name, signal).catch(failed);
  };
  // The tables change more slowly than the charts, so that they can be read.
  const timers = [
    setInterval(() => state.newExamples && !byId("explain-dialog").open && ((state.newExamples = false), showRecent(byId("recent"), state.recent, explain)), 1500),
    setInterval(() => document.hidden || refreshWeights(name, signal).catch(failed), 20000), // they take the server some time
    setInterval(() => state.models.some((model) => model.status !== "ready") && refreshModels().catch(() => {}), 2000),
    setInterval(() => document.hidden || Promise.all([refreshModels(), refreshMetrics(name, signal)]).catch(failed), 30000),
  ];
  try {
    await follow(about(name, "events"), signal, begun, (event, data) => take[event]?.(data));
    throw new Error("The connection ended.");
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    stop.abort();
    timers.forEach(clearInterval);
  }
}

/** The model that the address names, or the champion that has learned most. */
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
        say(byId("create"), commands());
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
      connection("lost", everConnected ? "Connection lost, trying again" : `Cannot connect, trying again`);
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
      // Then the choice holds until the page is loaded again.
    }
    drawSoon();
  });
  dark.addEventListener("change", drawSoon);
}

byId("copy").addEventListener("click", () => navigator.clipboard?.writeText(commands()).then(() => say(byId("copy"), "Copied")));
byId("charts").append(...Object.values(charts).map((chart) => chart.element));
byId("model").addEventListener("change", (event) => choose(event.target.value));
addEventListener("hashchange", () => watching?.abort());
for (const input of document.querySelectorAll("input[name=range]")) {
  input.addEventListener("change", () => ((state.range = input.value), drawSoon()));
}
chooseTheme();
run();

// A chart: lines over time or over examples, with a legend, a text that says the same, and a table.

import { make, say } from "./elements.js";
import { clock, count, short } from "./numbers.js";

const HEIGHT = 190;
const TABLE_ROWS = 60;

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The colours of lines, by number. */
export const colour = (k) => `--line-${(k % 6) + 1}`;

/**
 * Options: title, about (what is seen), format (a value as text), tick (the same at the axis), log (of the values), zero (the axis begins at 0),
 * robust (single peaks may leave the chart), level (a value with a line of its own), examples (x counts examples, not seconds),
 * bars (instead of lines), whole (values are counts), most (the largest value there can be), always (shown when empty).
 */
export class Chart {
  constructor(options) {
    this.options = options;
    this.plot = null;
    this.made = "";
    this.box = make("div", { class: "plot", role: "img" });
    this.legend = make("ul", { class: "legend" });
    this.rows = make("div", { class: "values", hidden: true });
    this.toggle = make("button", { type: "button", class: "small", "aria-pressed": "false", onclick: () => this.showTable() }, "Table");
    this.heading = make("h3", {});
    this.about = make("p", { class: "quiet" });
    this.rename(options.title, options.about);
    this.element = make(
      "figure",
      { class: "card", hidden: true },
      make("figcaption", { class: "heading" }, make("div", {}, this.heading, this.about), this.toggle),
      this.legend,
      this.box,
      this.rows,
    );
    new ResizeObserver(() => this.fit()).observe(this.box);
  }

  /** Says what is seen; it may depend on the model. */
  rename(title, about) {
    this.options = { ...this.options, title, about };
    say(this.heading, title);
    say(this.about, about);
    this.toggle.setAttribute("aria-label", `${title} as a table`);
  }

  showTable() {
    const shown = this.rows.hidden;
    this.rows.hidden = !shown;
    this.box.hidden = shown;
    this.toggle.setAttribute("aria-pressed", String(shown));
    if (this.drawn) this.update(...this.drawn);
  }

  fit() {
    const width = this.box.clientWidth;
    if (this.plot && width && width !== this.plot.width) this.plot.setSize({ width, height: HEIGHT });
  }

  /** Draws x and lines: [{name, colour, values, thin, dashed}]; between is the first and the last x that is seen. */
  update(x, lines, between) {
    const known = lines.filter((line) => line.values.some((value) => value != null));
    this.element.hidden = !known.length && !this.options.always;
    if (this.element.hidden) return;
    if (known.length) lines = known;
    this.drawn = [x, lines, between];
    this.between = between;
    const key = JSON.stringify([lines.map((line) => [line.name, line.colour, line.thin, line.dashed]), style("--ground")]);
    const data = [x, ...lines.map((line) => line.values)];
    if (this.options.level != null) data.push(x.map(() => this.options.level));
    if (key !== this.made) {
      this.plot?.destroy();
      this.plot = new uPlot(this.describe(lines), data, this.box);
      this.made = key;
    } else if (!this.box.hidden) {
      this.plot.setData(data);
    }
    this.tell(x, lines);
  }

  describe(lines) {
    const { format, tick, log, examples, bars, level, whole } = this.options;
    const grid = log ? { filter: (plot, at) => at.map((value) => (Math.log10(value) % 1 === 0 ? value : null)) } : {};
    const axis = { stroke: style("--quiet"), grid: { stroke: style("--rule"), width: 1 }, ticks: { show: false }, font: `11px ${style("--font")}` };
    const series = lines.map((line) => ({
      label: line.name,
      stroke: style(line.colour),
      width: line.thin ? 1.25 : 2,
      dash: line.dashed ? [5, 4] : undefined,
      points: { show: (plot, k) => alone(plot.data[k]), size: 4, fill: style(line.colour) },
      paths: bars ? uPlot.paths.bars({ size: [0.8, 8], align: 0 }) : undefined,
      fill: bars ? style(line.colour) : undefined,
    }));
    if (level != null) series.push({ label: "level", stroke: style("--quiet"), width: 1, dash: [3, 3], points: { show: false } });
    return {
      width: this.box.clientWidth || 300,
      height: HEIGHT,
      padding: [8, 14, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 }, sync: examples ? undefined : { key: "time" } },
      scales: {
        x: examples ? { time: false, distr: 3, range: (plot, low, high) => [low, high] } : { time: true, range: () => this.between },
        y: { distr: log ? 3 : 1, range: (plot, low, high) => this.range(plot, low, high) },
      },
      axes: [
        { ...axis, size: 28, space: 60, grid: { ...axis.grid, show: !examples }, values: (plot, at) => at.map((t) => this.place(t, at)) },
        { ...axis, size: 56, space: 34, incrs: whole ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10000, 100000] : undefined, grid: { ...axis.grid, ...grid }, values: (plot, at) => at.map((value) => (value == null ? "" : short((tick ?? format)(value)))) },
      ],
      series: [{}, ...series],
      hooks: { setCursor: [(plot) => this.point(plot)] },
    };
  }

  /** The text below a place on the x axis. */
  place(at, all) {
    if (at == null) return "";
    if (!this.options.examples && at > this.between[1] - 0.06 * (this.between[1] - this.between[0])) return ""; // it would be cut
    if (this.options.examples) return at >= 1e6 ? `${at / 1e6}M` : at >= 1e3 ? `${at / 1e3}k` : String(at);
    return clock(at, all.length > 1 && all[1] - all[0] < 60);
  }

  range(plot, low, high) {
    const { log, zero, robust, level, whole } = this.options;
    if (low == null || high == null) return log ? [0.1, 10] : [0, 1];
    if (log) return uPlot.rangeLog(low, high, 10, false);
    if (robust) high = withoutPeaks(plot.data, high);
    if (level != null) [low, high] = [Math.min(low, level), Math.max(high, level)];
    if (whole || (low === 0 && high === 0)) high = Math.max(high, 1);
    if (zero || low < 0.5 * high) low = Math.min(low, 0);
    const room = (high - low || Math.abs(high) || 1) * 0.08;
    return [low === 0 ? 0 : low - room, this.options.most == null ? high + room : Math.min(high + room, this.options.most)];
  }

  /** Where the mouse is, the legend says the values of that place, else the latest. */
  point(plot) {
    this.pointed = plot.cursor.idx ?? null;
    if (this.drawn) this.tell(this.drawn[0], this.drawn[1]);
  }

  tell(x, lines) {
    const { format, title, examples } = this.options;
    const at = this.pointed ?? null;
    const values = lines.map((line) => (at === null ? latest(line.values) : line.values[at]));
    while (this.legend.children.length > lines.length) this.legend.lastChild.remove();
    lines.forEach((line, k) => {
      const item = this.legend.children[k] ?? this.legend.appendChild(make("li", {}, make("i", { "aria-hidden": "true" }), make("span", {}), make("b", {})));
      const [swatch, name, value] = item.children;
      const look = `${line.colour.slice(2)}${line.dashed ? " dashed" : ""}`;
      if (swatch.className !== look) swatch.className = look;
      say(name, line.name);
      say(value, values[k] == null ? "–" : format(values[k]));
    });
    const now = lines.map((line) => `${line.name} ${latest(line.values) == null ? "unknown" : format(latest(line.values))}`);
    this.box.setAttribute("aria-label", `${title}: ${now.join(", ")}. The button Table shows the numbers.`);
    if (this.rows.hidden) return;
    const step = Math.max(Math.ceil(x.length / TABLE_ROWS), 1);
    const rows = x.map((_, k) => k).filter((k) => (x.length - 1 - k) % step === 0).reverse();
    const head = [examples ? "Examples" : "Time", ...lines.map((line) => line.name)];
    const cells = rows.map((k) => [examples ? count(x[k]) : clock(x[k]), ...lines.map((line) => (line.values[k] == null ? "–" : format(line.values[k])))]);
    this.rows.replaceChildren(plain(`${title}, newest first`, head, cells));
    this.rows.firstChild.scrollTop = this.scrolled ?? 0;
    this.rows.firstChild.addEventListener("scroll", (event) => (this.scrolled = event.target.scrollTop));
  }
}

function plain(label, head, rows) {
  const cell = (name, text, k) => make(name, { scope: name === "th" ? (k ? "col" : "row") : null, class: k ? "number" : null }, text);
  const made = make(
    "table",
    {},
    make("caption", { class: "unseen" }, label),
    make("thead", {}, make("tr", {}, ...head.map((text, k) => make("th", { scope: "col", class: k ? "number" : null }, text)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((text, k) => cell(k ? "td" : "th", text, k))))),
  );
  return make("div", { class: "sideways", tabindex: "0", role: "region", "aria-label": label }, made);
}

/** The last value that is known. */
function latest(values) {
  for (let k = values.length - 1; k >= 0; k--) if (values[k] != null) return values[k];
  return null;
}

/** Whether so few values are known that a line of them cannot be seen. */
function alone(values) {
  let known = 0;
  for (const value of values) if (value != null && ++known > 3) return false;
  return true;
}

/** The upper end of an axis: single values far above all others do not flatten the rest. */
function withoutPeaks(data, high) {
  const known = data.slice(1).flatMap((values) => values.filter((value) => value != null)).sort((a, b) => a - b);
  const most = known[Math.floor(0.97 * (known.length - 1))];
  return known.length >= 20 && high > 3 * most && most > 0 ? 1.5 * most : high;
}

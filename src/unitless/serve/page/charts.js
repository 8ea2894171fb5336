// A chart: lines over time or over learned rows, with a legend, a description for screen readers, and a table.

import { make, setText } from "./elements.js";
import { clock, count, short } from "./numbers.js";

const HEIGHT = 190;
const TABLE_ROWS = 60;

const probe = document.body.appendChild(make("span", { hidden: true }));

/** The value of a color variable for a canvas, which does not know var() and light-dark(). */
function colorOf(name) {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

/** The CSS variable with the color of line k. */
export const lineColor = (k) => `--line-${(k % 6) + 1}`;

/**
 * Options: title, about (what the chart shows), format (a value as text), tick (a value as text at the axis), log (logarithmic y axis),
 * zero (the y axis begins at 0), robust (single peaks may exceed the y axis), level (a y value with a horizontal line),
 * byRows (x counts learned rows, not seconds), bars (instead of lines), whole (values are counts), most (the largest possible value),
 * always (shown when empty).
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

  /** Sets the title and the description, which depend on the model. */
  rename(title, about) {
    this.options = { ...this.options, title, about };
    setText(this.heading, title);
    setText(this.about, about);
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

  /** Draws lines over x: [{name, color, values, thin, dashed}]; between is the first and the last x of the axis. */
  update(x, lines, between) {
    const known = lines.filter((line) => line.values.some((value) => value != null));
    this.element.hidden = !known.length && !this.options.always;
    if (this.element.hidden) return;
    if (known.length) lines = known;
    this.drawn = [x, lines, between];
    this.between = between;
    const key = JSON.stringify([lines.map((line) => [line.name, line.color, line.thin, line.dashed]), colorOf("--ground")]);
    const data = [x, ...lines.map((line) => line.values)];
    if (this.options.level != null) data.push(x.map(() => this.options.level));
    if (key !== this.made) {
      this.plot?.destroy();
      this.plot = new uPlot(this.plotOptions(lines), data, this.box);
      this.made = key;
    } else if (!this.box.hidden) {
      this.plot.setData(data);
    }
    this.describeValues(x, lines);
  }

  plotOptions(lines) {
    const { format, tick, log, byRows, bars, level, whole } = this.options;
    const grid = log ? { filter: (plot, at) => at.map((value) => (Math.log10(value) % 1 === 0 ? value : null)) } : {};
    const axis = { stroke: colorOf("--quiet"), grid: { stroke: colorOf("--rule"), width: 1 }, ticks: { show: false }, font: `11px ${getComputedStyle(document.body).fontFamily}` };
    const series = lines.map((line) => ({
      label: line.name,
      stroke: colorOf(line.color),
      width: line.thin ? 1.25 : 2,
      dash: line.dashed ? [5, 4] : undefined,
      points: { show: (plot, k) => alone(plot.data[k]), size: 4, fill: colorOf(line.color) },
      paths: bars ? uPlot.paths.bars({ size: [0.8, 8], align: 0 }) : undefined,
      fill: bars ? colorOf(line.color) : undefined,
    }));
    if (level != null) series.push({ label: "level", stroke: colorOf("--quiet"), width: 1, dash: [3, 3], points: { show: false } });
    return {
      width: this.box.clientWidth || 300,
      height: HEIGHT,
      padding: [8, 14, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 }, sync: byRows ? undefined : { key: "time" } },
      scales: {
        x: byRows ? { time: false, distr: 3, range: (plot, low, high) => [low, high] } : { time: true, range: () => this.between },
        y: { distr: log ? 3 : 1, range: (plot, low, high) => this.range(plot, low, high) },
      },
      axes: [
        { ...axis, size: 28, space: 60, grid: { ...axis.grid, show: !byRows }, values: (plot, at) => at.map((t) => this.place(t, at)) },
        { ...axis, size: 56, space: 34, incrs: whole ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10000, 100000] : undefined, grid: { ...axis.grid, ...grid }, values: (plot, at) => at.map((value) => (value == null ? "" : short((tick ?? format)(value)))) },
      ],
      series: [{}, ...series],
      hooks: { setCursor: [(plot) => this.point(plot)] },
    };
  }

  /** The text of a tick of the x axis. */
  place(at, all) {
    if (at == null) return "";
    if (!this.options.byRows && at > this.between[1] - 0.06 * (this.between[1] - this.between[0])) return ""; // the edge of the chart would cut it
    if (this.options.byRows) return at >= 1e6 ? `${at / 1e6}M` : at >= 1e3 ? `${at / 1e3}k` : String(at);
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
    const margin = (high - low || Math.abs(high) || 1) * 0.08;
    return [low === 0 ? 0 : low - margin, this.options.most == null ? high + margin : Math.min(high + margin, this.options.most)];
  }

  /** The legend shows the values at the mouse pointer, and the latest values if it is elsewhere. */
  point(plot) {
    this.pointed = plot.cursor.idx ?? null;
    if (this.drawn) this.describeValues(this.drawn[0], this.drawn[1]);
  }

  /** Writes the legend, the description for screen readers and, if it is open, the table. */
  describeValues(x, lines) {
    const { format, title, byRows } = this.options;
    const at = this.pointed ?? null;
    const values = lines.map((line) => (at === null ? latest(line.values) : line.values[at]));
    while (this.legend.children.length > lines.length) this.legend.lastChild.remove();
    lines.forEach((line, k) => {
      const item = this.legend.children[k] ?? this.legend.appendChild(make("li", {}, make("i", { "aria-hidden": "true" }), make("span", {}), make("b", {})));
      const [swatch, name, value] = item.children;
      const classes = `${line.color.slice(2)}${line.dashed ? " dashed" : ""}`;
      if (swatch.className !== classes) swatch.className = classes;
      setText(name, line.name);
      setText(value, values[k] == null ? "–" : format(values[k]));
    });
    const now = lines.map((line) => `${line.name} ${latest(line.values) == null ? "unknown" : format(latest(line.values))}`);
    this.box.setAttribute("aria-label", `${title}: ${now.join(", ")}. The button Table shows the numbers.`);
    if (this.rows.hidden) return;
    const step = Math.max(Math.ceil(x.length / TABLE_ROWS), 1);
    const rows = x.map((_, k) => k).filter((k) => (x.length - 1 - k) % step === 0).reverse();
    const head = [byRows ? "Rows learned" : "Time", ...lines.map((line) => line.name)];
    const cells = rows.map((k) => [byRows ? count(x[k]) : clock(x[k]), ...lines.map((line) => (line.values[k] == null ? "–" : format(line.values[k])))]);
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

/** Whether a line has so few values that only points make them visible. */
function alone(values) {
  let known = 0;
  for (const value of values) if (value != null && ++known > 3) return false;
  return true;
}

/** The upper end of an axis that a few values far above the others do not stretch. */
function withoutPeaks(data, high) {
  const known = data.slice(1).flatMap((values) => values.filter((value) => value != null)).sort((a, b) => a - b);
  const most = known[Math.floor(0.97 * (known.length - 1))];
  return known.length >= 20 && high > 3 * most && most > 0 ? 1.5 * most : high;
}

// The moments that the charts show, as columns of numbers.

const SMOOTH = 15; // seconds over which losses are averaged, so that few rows a second give a line
const RATE = 5; // seconds over which rates are averaged
const KEPT = { seconds: 600, minutes: 1440 };

export class History {
  constructor() {
    this.seconds = [];
    this.minutes = [];
  }

  /** Takes what the server remembers; what is known from before it started again is kept. */
  merge(kind, moments) {
    const byTime = new Map(this[kind].map((moment) => [moment.time, moment]));
    for (const moment of moments) byTime.set(moment.time, moment);
    this[kind] = [...byTime.values()].sort((a, b) => a.time - b.time).slice(-KEPT[kind]);
  }

  add(moment) {
    const last = this.seconds.at(-1);
    if (last && moment.time <= last.time) return this.merge("seconds", [moment]);
    for (let time = last ? Math.max(last.time + 1, moment.time - KEPT.seconds) : moment.time; time < moment.time; time++) this.seconds.push({ time, learned: 0, predicted: 0, by_model: {} });
    this.seconds.push(moment);
    if (this.seconds.length > KEPT.seconds) this.seconds.splice(0, this.seconds.length - KEPT.seconds);
  }

  /** Rows per second over the last seconds. */
  rate(field) {
    const last = this.seconds.slice(-RATE);
    return last.length ? last.reduce((sum, moment) => sum + moment[field], 0) / last.length : null;
  }

  get latest() {
    return this.seconds.at(-1) ?? null;
  }

  /** The first and the last time of a chart. */
  between(kind) {
    const all = this[kind];
    const last = all.at(-1)?.time ?? this.latest?.time ?? Date.now() / 1000;
    const step = kind === "seconds" ? 1 : 60;
    const first = all[0]?.time ?? last;
    return [Math.min(Math.max(first, last - step * (KEPT[kind] - 1)), last - 60 * step), last];
  }

  /** A field as it was. */
  column(kind, read) {
    return this[kind].map((moment) => read(moment) ?? null);
  }

  /** Sums of a field over some moments each, as [times, sums]. */
  grouped(kind, read, moments) {
    const width = moments * (kind === "seconds" ? 1 : 60);
    const sums = new Map();
    for (const moment of this[kind]) {
      const place = Math.floor(moment.time / width) * width;
      const more = read(moment);
      sums.set(place, more == null ? sums.get(place) ?? null : (sums.get(place) ?? 0) + more);
    }
    return [[...sums.keys()], [...sums.values()]];
  }

  /** The mean of a field over a few moments. */
  steady(kind, read) {
    const values = this.column(kind, read);
    const reach = kind === "seconds" ? RATE : 1;
    let sum = 0;
    return values.map((value, k) => {
      sum += value - (k >= reach ? values[k - reach] : 0);
      return sum / Math.min(k + 1, reach);
    });
  }

  /** A mean of a field, over the last seconds of each moment, rows counted alike. */
  smooth(kind, read) {
    const all = this[kind];
    const reach = kind === "seconds" ? SMOOTH : 1;
    const values = [];
    let sum = 0;
    let rows = 0;
    let first = 0;
    const part = (moment) => (read(moment) == null ? [0, 0] : [read(moment) * moment.learned, moment.learned]);
    all.forEach((moment) => {
      const [more, n] = part(moment);
      sum += more;
      rows += n;
      while (all[first].time <= moment.time - reach) {
        const [less, m] = part(all[first++]);
        sum -= less;
        rows -= m;
      }
      if (rows <= 0) sum = 0;
      values.push(rows > 0 ? sum / rows : null);
    });
    return values;
  }
}

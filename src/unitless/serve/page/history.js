// The moments (seconds and minutes) that the charts show, as columns of numbers.

export const SMOOTH = 15; // seconds over which losses are averaged, so that streams with few rows per second give a line
const RATE = 5; // seconds over which rates are averaged
const CAPACITY = { seconds: 600, minutes: 1440 };

export class History {
  constructor() {
    this.seconds = [];
    this.minutes = [];
  }

  /** Adds moments of the server. Moments from before a restart of the server stay. */
  merge(kind, moments) {
    const byTime = new Map(this[kind].map((moment) => [moment.time, moment]));
    for (const moment of moments) byTime.set(moment.time, moment);
    this[kind] = [...byTime.values()].sort((a, b) => a.time - b.time).slice(-CAPACITY[kind]);
  }

  /** Adds the latest second, and empty ones for seconds that were not received. */
  add(moment) {
    const last = this.seconds.at(-1);
    if (last && moment.time <= last.time) return this.merge("seconds", [moment]);
    for (let time = last ? Math.max(last.time + 1, moment.time - CAPACITY.seconds) : moment.time; time < moment.time; time++) this.seconds.push({ time, learned: 0, predicted: 0, by_model: {} });
    this.seconds.push(moment);
    if (this.seconds.length > CAPACITY.seconds) this.seconds.splice(0, this.seconds.length - CAPACITY.seconds);
  }

  /** Rows per second, over the last few seconds. */
  rate(field) {
    const last = this.seconds.slice(-RATE);
    return last.length ? last.reduce((sum, moment) => sum + moment[field], 0) / last.length : null;
  }

  /** The mean of a field over the latest seconds that have at least so many rows, and how many they have. */
  recent(read, rows) {
    let sum = 0;
    let found = 0;
    for (let k = this.seconds.length - 1; k >= 0 && found < rows; k--) {
      const value = read(this.seconds[k]);
      if (value == null) continue;
      sum += value * this.seconds[k].learned;
      found += this.seconds[k].learned;
    }
    return found > 0 ? { mean: sum / found, rows: found } : null;
  }

  /** The first and the last time of the x axis. */
  between(kind) {
    const all = this[kind];
    const last = all.at(-1)?.time ?? this.seconds.at(-1)?.time ?? Date.now() / 1000;
    const step = kind === "seconds" ? 1 : 60;
    const first = all[0]?.time ?? last;
    return [Math.min(Math.max(first, last - step * (CAPACITY[kind] - 1)), last - 60 * step), last];
  }

  /** A field of every moment; null where it is unknown. */
  column(kind, read) {
    return this[kind].map((moment) => read(moment) ?? null);
  }

  /** Sums of a field over groups of moments, as [times, sums]. */
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

  /** A moving average of a field, every moment counted alike. */
  steady(kind, read) {
    const values = this.column(kind, read);
    const width = kind === "seconds" ? RATE : 1;
    let sum = 0;
    return values.map((value, k) => {
      sum += value - (k >= width ? values[k - width] : 0);
      return sum / Math.min(k + 1, width);
    });
  }

  /** A moving average of a field, every row counted alike. */
  smooth(kind, read) {
    const all = this[kind];
    const width = kind === "seconds" ? SMOOTH : 1;
    const values = [];
    let sum = 0;
    let rows = 0;
    let first = 0;
    const part = (moment) => (read(moment) == null ? [0, 0] : [read(moment) * moment.learned, moment.learned]);
    all.forEach((moment) => {
      const [more, n] = part(moment);
      sum += more;
      rows += n;
      while (all[first].time <= moment.time - width) {
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

// Numbers, times and values as text.

const whole = new Intl.NumberFormat("en");

/** A count: 12,345. */
export function count(value) {
  return value == null ? "–" : whole.format(Math.round(value));
}

/** A measured number with about four digits. */
export function number(value, digits = 4) {
  if (value == null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e7 || size < 1e-4)) {
    const [mantissa, exponent] = value.toExponential(Math.max(digits - 2, 0)).split("e");
    return `${minus(mantissa)}e${minus(exponent.replace("+", ""))}`;
  }
  if (size >= 1000) return minus(whole.format(Math.round(value)));
  const after = size === 0 ? 0 : Math.min(Math.max(digits - 1 - Math.floor(Math.log10(size)), 0), 5);
  return minus(value.toFixed(after));
}

const minus = (text) => text.replace("-", "−");

/** A number with its sign. */
export function signed(value) {
  return value > 0 ? `+${number(value)}` : number(value);
}

/** A share: 98.4%. */
export function percent(value) {
  if (value == null || !Number.isFinite(value)) return "–";
  const share = 100 * value;
  return `${share.toFixed(share > 99 && share < 100 ? 2 : 1)}%`;
}

/** Removes zeros at the end of the decimals of a number. */
export function short(text) {
  return text.replace(/\.(\d*?)0+(?=\D|$)/, (_, digits) => (digits ? `.${digits}` : ""));
}

/** Rows per second. */
export function rate(value) {
  if (value == null || !Number.isFinite(value)) return "–";
  return value === 0 || value >= 10 ? count(value) : value.toFixed(1);
}

/** A duration in the unit that suits it. */
export function duration(seconds) {
  if (seconds == null || !Number.isFinite(seconds)) return "–";
  if (seconds < 1e-3) return `${number(seconds * 1e6, 2)} µs`;
  if (seconds < 1) return `${number(seconds * 1e3, 2)} ms`;
  if (seconds < 120) return `${number(seconds, 2)} s`;
  if (seconds < 7200) return `${number(seconds / 60, 2)} min`;
  if (seconds < 172800) return `${number(seconds / 3600, 2)} h`;
  return `${number(seconds / 86400, 2)} d`;
}

/** Bytes: 1.2 MB. */
export function bytes(value) {
  if (value == null) return "–";
  let size = value;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (size < 1000 || unit === "GB") return `${unit === "B" ? size : size.toFixed(1)} ${unit}`;
    size /= 1000;
  }
  return "–";
}

/** The time of day. */
export function clock(seconds, withSeconds = true) {
  const shown = { hour: "2-digit", minute: "2-digit", hour12: false };
  return new Date(seconds * 1000).toLocaleTimeString("en", withSeconds ? { ...shown, second: "2-digit" } : shown);
}

/** A value of a feature or a label, as it was sent. */
export function value(given) {
  if (given == null) return "missing";
  if (typeof given === "number") return Number.isInteger(given) && Math.abs(given) < 1e7 ? minus(whole.format(given)) : short(number(given, 6));
  const text = typeof given === "string" ? given : JSON.stringify(given);
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}

/** The metrics of a model; the accuracy is added for classes. */
export function scores(metrics) {
  return metrics?.error_rate == null ? metrics ?? {} : { accuracy: 1 - metrics.error_rate, ...metrics };
}

/** The value of a metric as text: a percentage or a number. */
export function metric(name, value) {
  const shares = new Set(["accuracy", "error_rate", "precision", "recall", "f1"]);
  return shares.has(name) ? percent(value) : number(value);
}

const metricNames = { rmse: "RMSE", mae: "MAE", auc: "AUC", r2: "R²", f1: "F1", brier: "Brier", error_rate: "Error rate", mse: "MSE" };

/** The name of a metric in a heading. */
export function metricName(name) {
  return metricNames[name] ?? name[0].toUpperCase() + name.slice(1).replaceAll("_", " ");
}

// What single features add to the score: a curve for a number, bars for text.

import { bar, make } from "./elements.js";
import { signed } from "./numbers.js";

const MOST_TEXTS = 6;

/** A small drawing of the curve of a numeric feature. */
export function curve(feature, x, y, format) {
  const [width, height, edge] = [240, 96, 6];
  const extent = (values) => [Math.min(...values), Math.max(...values)];
  const [left, right] = extent(x);
  const [low, high] = extent([...y, 0]);
  const across = (value) => edge + ((value - left) / (right - left || 1)) * (width - 2 * edge);
  const up = (value) => height - edge - ((value - low) / (high - low || 1)) * (height - 2 * edge);
  const draw = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  picture.setAttribute("aria-label", `${feature}: from ${format(y[0])} at ${format(left)} to ${format(y[y.length - 1])} at ${format(right)}, least ${format(Math.min(...y))}, most ${format(Math.max(...y))}`);
  picture.append(
    draw("path", { class: "zero", d: `M${edge} ${up(0)}H${width - edge}` }),
    draw("path", { class: "curve", d: x.map((value, k) => `${k ? "L" : "M"}${across(value).toFixed(1)} ${up(y[k]).toFixed(1)}`).join("") }),
  );
  const ends = make("p", { class: "ends quiet" }, make("span", {}, format(left)), make("span", {}, format(right)));
  return make("figure", { class: "card" }, make("figcaption", {}, make("h3", {}, feature)), picture, ends);
}

/** Bars of what each text value of a feature adds to the score, the largest first. */
export function steps(feature, texts, y) {
  const most = Math.max(...y.map(Math.abs)) || 1;
  const ranked = texts.map((text, k) => [text, y[k]]).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const rows = ranked.slice(0, MOST_TEXTS).map(([text, adds]) => make("li", {}, make("span", {}, text), bar(adds / most, true), make("b", {}, signed(adds))));
  const left = texts.length - MOST_TEXTS;
  return make("figure", { class: "card" }, make("figcaption", {}, make("h3", {}, feature)), make("ul", { class: "steps" }, ...rows), left > 0 ? make("p", { class: "quiet" }, `and ${left} more`) : null);
}

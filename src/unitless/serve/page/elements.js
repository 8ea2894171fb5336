// Elements of the document. Text is never parsed as HTML.

/** The element of the page with this id. */
export const byId = (id) => document.getElementById(id);

/** A new element. Properties are attributes, those that begin with "on" event listeners; children are elements or text. */
export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value == null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

/** Sets the text of an element if it differs, so that screen readers do not repeat it. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * A table that scrolls sideways where it is too wide.
 * columns: [{title, number}], rows: arrays of text or elements.
 */
export function table(label, columns, rows, properties = {}) {
  const head = columns.map((column) => make("th", { scope: "col", class: column.number ? "number" : null }, column.title));
  const body = rows.map((row) => {
    const cells = row.map((cell, k) => {
      const kind = columns[k].number ? "number" : columns[k].kind ?? null;
      return k === 0 ? make("th", { scope: "row", class: kind }, cell) : make("td", { class: kind }, cell);
    });
    return make("tr", {}, ...cells);
  });
  const made = make("table", properties, make("caption", { class: "unseen" }, label), make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
  return make("div", { class: "sideways", tabindex: "0", role: "region", "aria-label": label }, made);
}

/** A bar for a share between -1 and 1. A signed bar begins in the middle, another one at the left. */
export function bar(share, signed = false) {
  const inside = make("i", { class: share < 0 ? "fall" : "rise" });
  const width = Math.min(Math.abs(share), 1) * (signed ? 50 : 100);
  inside.style.width = `${width}%`;
  inside.style.left = signed ? `${share < 0 ? 50 - width : 50}%` : "0";
  return make("span", { class: signed ? "bar signed" : "bar", "aria-hidden": "true" }, inside);
}

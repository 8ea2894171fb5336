// Looks at the document as it is: what has no name, what cannot be read. Gives a list of complaints.
() => {
  const complaints = [];
  const seen = (element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest(".unseen");
  const named = (element) => {
    const by = element.getAttribute("aria-labeledby");
    const labels = [...(element.labels ?? [])].map((label) => label.textContent).join(" ");
    const text = element.getAttribute("aria-label") ?? (by && document.getElementById(by)?.textContent) ?? element.getAttribute("alt") ?? "";
    return `${text}${labels}${element.matches("button, a, h1, h2, h3, th, summary") ? element.textContent : ""}`.trim() !== "";
  };
  const describe = (element) => `${element.tagName.toLowerCase()}${element.id ? `#${element.id}` : ""}.${element.className?.baseVal ?? element.className}`;

  for (const element of document.querySelectorAll("button, a[href], input, select, dialog, [role=img], [role=region], h1, h2, h3")) {
    if (seen(element) && !named(element)) complaints.push(`${describe(element)} has no name`);
  }
  for (const image of document.querySelectorAll("img")) {
    if (!image.hasAttribute("alt")) complaints.push(`${describe(image)} has no alt`);
  }
  for (const canvas of document.querySelectorAll("canvas")) {
    if (!canvas.closest("[role=img][aria-label]")) complaints.push("a canvas without words");
  }
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption?.textContent) complaints.push("a table without a caption");
    for (const cell of table.querySelectorAll("th")) if (!cell.scope) complaints.push(`th "${cell.textContent}" has no scope`);
  }
  for (const element of document.querySelectorAll("*")) {
    const moves = element.scrollWidth > element.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
    if (moves && seen(element) && element.tabIndex < 0) complaints.push(`${describe(element)} can be moved with the mouse alone`);
    if (element.hasAttribute("style") && element.getAttribute("style") === "") complaints.push(`${describe(element)} has an empty style`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) complaints.push(`the id ${id} is there twice`);
  const headings = [...document.querySelectorAll("h1, h2, h3")].filter((heading) => seen(heading)).map((heading) => Number(heading.tagName[1]));
  if (headings.filter((level) => level === 1).length !== 1 && !document.querySelector("dialog[open]")) complaints.push(`headings of the first level: ${headings}`);
  headings.forEach((level, k) => k && level > headings[k - 1] + 1 && complaints.push(`a heading of level ${level} follows one of ${headings[k - 1]}`));
  if (!document.documentElement.lang) complaints.push("the document does not say its language");

  // Contrast of text, as WCAG computes it: at least 4.5, of large text 3.
  const painter = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    painter.clearRect(0, 0, 1, 1);
    painter.fillStyle = color;
    painter.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = painter.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((part, k) => part * a + below[k] * (1 - a));
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.unshift(rgba(getComputedStyle(at).backgroundColor));
    return layers.reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const light = (color) => {
    const [r, g, b] = color.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  for (const element of document.querySelectorAll("body *")) {
    const words = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
    if (!words || !seen(element) || element.matches("option, optgroup, .skip, script, noscript")) continue;
    const style = getComputedStyle(element);
    const ground = behind(element);
    const pair = [light(ground), light(over(rgba(style.color), ground))].sort((a, b) => b - a);
    const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    if (contrast < (large ? 3 : 4.5)) complaints.push(`${describe(element)} "${element.textContent.slice(0, 30)}" has a contrast of ${contrast.toFixed(2)}`);
  }
  return complaints;
};

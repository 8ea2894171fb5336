// Requests to the server that sent the page, with its token, and the events that the server sends.

import { byId } from "./elements.js";

const SILENCE = 20000; // milliseconds without a byte after which the page connects again

export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `The server answered ${status}.`);
    this.status = status;
  }
}

let tokenPrompt = null; // resolved when the dialog for a token closes

/** Opens the dialog for a token; requests that need one at the same time share it. */
function askForToken(reason) {
  tokenPrompt ??= new Promise((resolve) => {
    const dialog = byId("token-dialog");
    if (reason) byId("token-reason").textContent = reason;
    const answered = () => {
      const token = byId("token").value.trim();
      if (token) sessionStorage.setItem("token", token);
      byId("token").value = "";
      tokenPrompt = null;
      resolve();
    };
    dialog.addEventListener("close", answered, { once: true });
    dialog.showModal();
  });
  return tokenPrompt;
}

async function send(path, options = {}) {
  for (;;) {
    const token = sessionStorage.getItem("token");
    const headers = { ...options.headers };
    if (token) headers.Authorization = `Bearer ${token}`;
    const response = await fetch(new URL(path, document.baseURI), { ...options, headers, cache: "no-store" });
    if (response.ok) return response;
    const problem = await response.json().catch(() => ({}));
    if (response.status !== 401) throw new Refused(response.status, problem);
    await askForToken(token ? "The server does not know this token. Enter another one." : null);
  }
}

/** The answer to a GET request. */
export async function get(path, signal) {
  return (await send(path, { signal })).json();
}

/** The answer to a POST request. */
export async function post(path, body) {
  const options = { method: "POST" };
  if (body !== undefined) Object.assign(options, { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
  return (await send(path, options)).json();
}

/**
 * Reads server-sent events until the connection ends. It uses fetch, because an EventSource cannot send a token.
 * begun() is called with the first bytes, event(name, data) with each event.
 */
export async function readEvents(path, signal, begun, event) {
  const silence = new AbortController();
  let timer;
  const restartTimer = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(new Error("The server sends nothing.")), SILENCE);
  };
  restartTimer();
  try {
    const response = await send(path, { signal: AbortSignal.any([signal, silence.signal]), headers: { Accept: "text/event-stream" } });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let unfinished = "";
    let first = true;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      restartTimer();
      if (first) begun();
      first = false;
      const parts = (unfinished + value).split("\n\n");
      unfinished = parts.pop();
      for (const part of parts) {
        const fields = Object.fromEntries(part.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
        if (fields.event) event(fields.event, JSON.parse(fields.data));
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

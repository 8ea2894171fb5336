// Talks to the server that the page came from: requests with the token, and events that are followed.

import { byId } from "./elements.js";

const SILENCE = 20000; // milliseconds without a byte after which a connection is given up

export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `The server answered ${status}.`);
    this.status = status;
  }
}

let asking = null; // the question for a token, while it is open

/** Asks for a token, once however many requests need it. */
function askForToken(reason) {
  asking ??= new Promise((resolve) => {
    const dialog = byId("token-dialog");
    if (reason) byId("token-reason").textContent = reason;
    const answered = () => {
      const token = byId("token").value.trim();
      if (token) sessionStorage.setItem("token", token);
      byId("token").value = "";
      asking = null;
      resolve();
    };
    dialog.addEventListener("close", answered, { once: true });
    dialog.showModal();
  });
  return asking;
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
    await askForToken(token ? "The server does not know this token. Give another one." : null);
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
 * Follows server-sent events until the connection ends. They are read with fetch, because an EventSource sends no token.
 * begun() is called when events begin to be sent, event(name, data) for each.
 */
export async function follow(path, signal, begun, event) {
  const silence = new AbortController();
  let timer;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(new Error("The server is silent.")), SILENCE);
  };
  heard();
  try {
    const response = await send(path, { signal: AbortSignal.any([signal, silence.signal]), headers: { Accept: "text/event-stream" } });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let waiting = "";
    let first = true;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      if (first) begun();
      first = false;
      const parts = (waiting + value).split("\n\n");
      waiting = parts.pop();
      for (const part of parts) {
        const fields = Object.fromEntries(part.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
        if (fields.event) event(fields.event, JSON.parse(fields.data));
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

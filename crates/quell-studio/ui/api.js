// Requests to the server, as API.md describes them, and whether it is there at all.

/** @typedef {import("./types.js").Samples} Samples */
/** @typedef {import("./types.js").Values} Values */

/** What the server refused, with its remedy. */
export class Refused extends Error {
  /** @param {number} status @param {string} message @param {string | null} hint */
  constructor(status, message, hint) {
    super(message);
    this.name = "Refused";
    this.status = status;
    this.hint = hint;
  }
}

/** The server does not answer. */
export class Gone extends Error {
  constructor() {
    super("quell studio does not answer");
    this.name = "Gone";
  }
}

/** @type {(problem: "gone" | "stranger") => void} */
let lost = () => {};

/** @param {typeof lost} listener called when the server is gone or does not know this page any more */
export function onLost(listener) {
  lost = listener;
}

/**
 * @param {string} method
 * @param {string} path
 * @param {{body?: BodyInit, signal?: AbortSignal, quiet?: boolean}} [options]
 * @returns {Promise<Response>}
 */
async function request(method, path, { body, signal, quiet } = {}) {
  /** @type {Record<string, string>} */
  const headers = method === "GET" ? {} : { "X-Quell": "studio" };
  if (typeof body === "string") headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, body, signal, headers, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    if (signal?.aborted) throw error;
    if (!quiet) lost("gone");
    throw new Gone();
  }
  if (answer.ok) return answer;
  const text = await answer.text();
  let told = { error: text.trim() || `the server answered ${answer.status}`, hint: null };
  try {
    told = { ...told, ...JSON.parse(text) };
  } catch {
    // Not JSON: the text itself is what there is to say.
  }
  if (answer.status === 401 && !quiet) lost("stranger");
  throw new Refused(answer.status, told.error, told.hint);
}

/**
 * @param {string} path
 * @param {{signal?: AbortSignal, quiet?: boolean}} [options]
 * @returns {Promise<any>}
 */
export async function get(path, options) {
  return (await request("GET", path, options)).json();
}

/**
 * @param {string} path
 * @param {unknown} body
 * @param {{signal?: AbortSignal, quiet?: boolean}} [options]
 * @returns {Promise<any>}
 */
export async function post(path, body, options = {}) {
  const answer = await request("POST", path, { ...options, body: JSON.stringify(body) });
  return answer.status === 204 ? null : readAny(answer);
}

/** @param {Response} answer */
async function readAny(answer) {
  const text = await answer.text();
  return text ? JSON.parse(text) : null;
}

/**
 * @param {string} name
 * @param {Blob} file
 * @returns {Promise<import("./types.js").Picture>}
 */
export async function upload(name, file) {
  return (await request("POST", `/api/upload?name=${encodeURIComponent(name)}`, { body: file })).json();
}

/** Gives the token of the address for the cookie, once. @param {string} token */
export async function begin(token) {
  await request("POST", "/api/session", { body: JSON.stringify({ token }), quiet: true });
}

/** @param {Record<string, string | number | null | undefined>} values */
export function query(values) {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined) parts.set(name, String(value));
  }
  return parts.toString();
}

/**
 * Samples of a part of a source or result.
 * @param {string} path
 * @param {AbortSignal} signal
 */
export async function samples(path, signal) {
  const answer = await request("GET", path, { signal });
  const number = (/** @type {string} */ name) => Number(answer.headers.get(`X-Quell-${name}`));
  const kind = /** @type {Samples} */ (answer.headers.get("X-Quell-Samples"));
  const bytes = await answer.arrayBuffer();
  /** @type {Values} */
  const data =
    kind === "u8" ? new Uint8Array(bytes) : kind === "u16" ? new Uint16Array(bytes) : new Float32Array(bytes);
  return {
    width: number("Width"),
    height: number("Height"),
    channels: number("Channels"),
    white: number("White"),
    samples: kind,
    data,
  };
}

/** @type {Promise<unknown>} */
let lane = Promise.resolve();

/**
 * Measurements one after the other: a browser keeps six connections, and tiles and settings need them.
 * @param {string} path
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export function measure(path, signal) {
  const turn = lane.then(() => {
    signal.throwIfAborted();
    return get(path, { signal });
  });
  lane = turn.catch(() => {});
  return turn;
}

/** Aborts what was asked before when something else is asked. */
export class Latest {
  constructor() {
    this.controller = new AbortController();
  }

  /** @returns {AbortSignal} */
  next() {
    this.controller.abort();
    this.controller = new AbortController();
    return this.controller.signal;
  }
}

/**
 * Server-sent events until they fail; then `failed` is called once.
 * @param {Record<string, (data: any) => void>} listeners
 * @param {() => void} failed
 */
export function listen(listeners, failed) {
  const events = new EventSource("/api/events");
  for (const [name, listener] of Object.entries(listeners)) {
    events.addEventListener(name, (event) => listener(JSON.parse(/** @type {MessageEvent} */ (event).data)));
  }
  events.onerror = () => {
    events.close();
    failed();
  };
  return events;
}

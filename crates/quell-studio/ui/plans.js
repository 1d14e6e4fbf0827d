// Settings become plans: the server checks them, names their result by a key, and drops the work for those before.

import { post, Gone, Refused } from "./api.js";
import { needed } from "./compare.js";
import { state, watch, plan, setPlan, current } from "./state.js";

/** @typedef {import("./types.js").Candidate} Candidate */

/** A moved slider is silent for so long before its settings are sent, but sends them at the latest after `PATIENCE`. */
const PAUSE = 30;
const PATIENCE = 150;
/** So many results of earlier settings may stand in for one that is computed. */
const EARLIER = 3;

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let since = 0;
/** @type {Map<Candidate, {text: string, controller: AbortController}>} */
const asked = new Map();

function later() {
  clearTimeout(timer);
  const now = performance.now();
  if (!since) since = now;
  timer = setTimeout(
    () => {
      since = 0;
      send();
    },
    Math.max(0, Math.min(PAUSE, since + PATIENCE - now)),
  );
}

/** Settings that are to be seen and have no plan yet. */
function open() {
  const file = current();
  if (!file || state.connection !== "there") return [];
  return needed().flatMap((candidate) => {
    const settings = state.candidates[candidate];
    if (!settings) return [];
    const text = JSON.stringify(settings);
    return plan(file.id, candidate)?.settings === text ? [] : [{ file: file.id, candidate, settings, text }];
  });
}

async function send() {
  await Promise.all(
    open().map(async ({ file, candidate, settings, text }) => {
      const before = asked.get(candidate);
      const name = `${file} ${text}`;
      if (before?.text === name) return;
      before?.controller.abort();
      const controller = new AbortController();
      asked.set(candidate, { text: name, controller });
      const old = plan(file, candidate);
      const earlier = [old?.key, ...(old?.earlier ?? [])].filter((key) => key !== undefined);
      try {
        const made = await post("/api/settings", { file, candidate, settings }, { signal: controller.signal });
        setPlan(file, candidate, {
          ...made,
          settings: text,
          earlier: earlier.filter((key, index) => key !== made.key && earlier.indexOf(key) === index).slice(0, EARLIER),
        });
      } catch (error) {
        if (controller.signal.aborted || error instanceof Gone) return;
        const known = error instanceof Refused ? error : new Refused(500, String(error), null);
        setPlan(file, candidate, {
          settings: text,
          earlier: earlier.slice(0, EARLIER),
          error: known.message,
          hint: known.hint,
        });
      } finally {
        if (asked.get(candidate)?.controller === controller) asked.delete(candidate);
      }
    }),
  );
}

export function start() {
  watch(["candidates", "candidate", "current", "files", "mode", "against", "plans", "connection"], () => {
    if (open().length) later();
  });
}

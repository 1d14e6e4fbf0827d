// The session with the server: how it begins, what its events change, and what happens when it is gone.

import { begin, get, listen, onLost, Refused } from "./api.js";
import { byId, say } from "./dom.js";
import { show } from "./files.js";
import { tiles } from "./stage.js";
import { state, set, watch, begin as beginHistory } from "./state.js";
import { standard } from "./panels/settings.js";

/** @type {EventSource | null} */
let events = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let retry;
let wait = 500;

/**
 * The token stands behind the # of the address, which is never sent; it is given away once and removed. Behind it may
 * stand the settings of a window whose server is gone.
 */
async function greet() {
  const [token, carried] = location.hash.slice(1).split("~");
  if (!token) return;
  history.replaceState(null, "", location.pathname);
  await begin(token);
  if (carried) keep(() => decodeURIComponent(carried));
}

const KEPT = "quell studio settings";

/** Takes settings of before. @param {() => string} read */
function keep(read) {
  try {
    const { candidates, candidate } = JSON.parse(read());
    if (candidates?.[candidate]) beginHistory({ A: null, B: null, C: null, D: null, ...candidates }, candidate);
  } catch {
    // An address that was cut off: the settings begin anew.
  }
}

/**
 * Prepares the address of a server that was started again, so that the settings come along. The server answers no page of
 * another address, which the old one is: the user has to open it.
 * @param {HTMLInputElement} field
 */
async function prepare(field) {
  let place;
  try {
    place = new URL(field.value.trim());
  } catch {
    place = null;
  }
  // Settings and token are for this machine only.
  if (
    place?.protocol !== "http:" ||
    !["127.0.0.1", "[::1]", "localhost"].includes(place.hostname) ||
    place.hash.length < 2
  ) {
    say("That is not an address of quell studio", "it begins with http://127.0.0.1 and has a # in it", true);
    return;
  }
  if (place.origin === location.origin) {
    location.hash = place.hash;
    return;
  }
  const { candidates, candidate } = state;
  place.hash = `${place.hash.split("~")[0]}~${encodeURIComponent(JSON.stringify({ candidates, candidate }))}`;
  field.value = place.href;
  field.select();
  try {
    await navigator.clipboard.writeText(place.href);
    say("Copied, with your settings", "paste it into the address line of the browser");
  } catch {
    say("The address has your settings now", "press Ctrl+C and paste it into the address line of the browser");
  }
}

/** @param {any} told */
function take(told) {
  set({
    version: told.version,
    methods: told.methods,
    devices: told.devices,
    memory: told.memory,
    folder: told.folder,
    uploadLimit: told.upload_limit,
    queue: told.queue ?? [],
  });
}

/** Reads everything and listens. */
async function connect() {
  await greet();
  const told = await get("/api/state", { quiet: true });
  const again = state.connection !== "starting";
  const path = state.files.find((file) => file.id === state.current)?.path;
  take(told);
  // A new server names files anew and knows no key of the old one.
  if (again) {
    tiles.clear();
    set({ plans: {}, progress: {}, ready: {}, marked: [], clean: null });
  }
  set({ files: told.files, connection: "there" });
  if (!state.candidates[state.candidate]) beginHistory({ ...state.candidates, A: standard() }, "A");
  hear();
  const first = told.files.find((/** @type {any} */ file) => file.path === path) ?? told.files[0];
  if (first) await show(first.id);
  else set({ current: null });
  if (again) say("quell studio is there again");
}

function hear() {
  events?.close();
  events = listen(
    {
      progress: ({ key, done, seconds_left }) =>
        set({ progress: { ...state.progress, [key]: { done, left: seconds_left ?? null } } }),
      ready: ({ key, file, frame }) => {
        const name = `${key}|${file}|${frame}`;
        set({
          ready: { ...state.ready, [name]: (state.ready[name] ?? 0) + 1 },
          progress: { ...state.progress, [key]: { done: 1, left: null } },
        });
      },
      failed: ({ error, hint }) => say(error, hint, true),
      queue: (queue) => set({ queue }),
      note: ({ text }) => say(text),
      memory: (memory) => set({ memory }),
    },
    () => lost("gone"),
  );
}

/** @param {"gone" | "stranger"} problem */
function lost(problem) {
  if (state.connection === problem) return;
  events?.close();
  events = null;
  set({ connection: problem });
  wait = 500;
  again();
}

function again() {
  clearTimeout(retry);
  retry = setTimeout(async () => {
    try {
      await connect();
    } catch (error) {
      set({
        connection: error instanceof Refused && (error.status === 401 || error.status === 403) ? "stranger" : "gone",
      });
      wait = Math.min(wait * 1.5, 3000);
      again();
    }
  }, wait);
}

export async function start() {
  onLost(lost);
  // A page that is loaded again has its settings again.
  const kept = sessionStorage.getItem(KEPT);
  if (kept) keep(() => kept);
  watch(["candidates", "candidate"], () => {
    if (state.candidates[state.candidate])
      sessionStorage.setItem(KEPT, JSON.stringify({ candidates: state.candidates, candidate: state.candidate }));
  });
  // A link with another token, opened in this very window, only changes what stands behind the #.
  addEventListener("hashchange", () => {
    if (!location.hash) return;
    wait = 0;
    again();
  });
  watch(["connection"], () => {
    const box = byId("lost");
    box.hidden = state.connection === "there" || state.connection === "starting";
    byId("lost-title").textContent =
      state.connection === "stranger" ? "quell studio does not know this window" : "quell studio does not answer";
    byId("lost-text").textContent =
      state.connection === "stranger"
        ? "It was started again, or the address was not complete. Open the address that it prints, with all that stands behind the #. To take your settings along, paste it here first."
        : "Was it stopped? This page tries again by itself. If quell studio was started anew, open the address that it prints. To take your settings along, paste it here first.";
  });
  byId("lost-form").addEventListener("submit", (event) => {
    event.preventDefault();
    prepare(/** @type {HTMLInputElement} */ (byId("lost-address")));
  });
  try {
    await connect();
  } catch (error) {
    lost(error instanceof Refused ? "stranger" : "gone");
  }
}

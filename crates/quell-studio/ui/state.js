// What the page knows, who wants to hear of changes, and the history of settings.

/** @typedef {import("./types.js").Picture} Picture */
/** @typedef {import("./types.js").Settings} Settings */
/** @typedef {import("./types.js").Candidate} Candidate */
/** @typedef {import("./types.js").Plan} Plan */
/** @typedef {import("./types.js").Box} Box */

/**
 * @typedef {object} State
 * @property {"starting" | "there" | "gone" | "stranger"} connection
 * @property {string} version
 * @property {Picture[]} files
 * @property {import("./types.js").Method[]} methods
 * @property {import("./types.js").Device[]} devices
 * @property {{limit: number, used: number}} memory
 * @property {string} folder
 * @property {number} uploadLimit
 * @property {import("./types.js").Export[]} queue
 * @property {string | null} current  the file that is shown
 * @property {number} frame
 * @property {string[]} marked  files for the queue
 * @property {import("./types.js").Mode} mode
 * @property {"source" | "clean" | Candidate} against  what the result is compared with
 * @property {string | null} clean  the file without noise
 * @property {import("./types.js").Tool} tool
 * @property {Candidate} candidate  whose settings are edited
 * @property {Record<Candidate, Settings | null>} candidates
 * @property {Record<string, Plan>} plans  by file and candidate
 * @property {Record<string, {done: number, left: number | null}>} progress  by key
 * @property {Record<string, number>} ready  by key: how often all of it was computed
 * @property {number} divider  0 to 1 of the stage
 * @property {boolean} flipped  flicker shows the other picture
 * @property {number} gain  difference times N
 * @property {number} exposure  in stops
 * @property {number} gamma
 * @property {Box | null} region  the rectangle that is measured
 * @property {[number, number] | null} probe  the pixel under the pointer or the keyboard's cross
 * @property {[number, number] | null} picked  the pixel whose group is shown
 * @property {1 | 2} pass
 * @property {string} panel
 * @property {boolean} computing
 * @property {boolean} loading  samples of the picture itself are on their way
 */

/** @type {Candidate[]} */
export const CANDIDATES = ["A", "B", "C", "D"];

/** @type {State} */
export const state = {
  connection: "starting",
  version: "",
  files: [],
  methods: [],
  devices: [],
  memory: { limit: 0, used: 0 },
  folder: "",
  uploadLimit: 0,
  queue: [],
  current: null,
  frame: 0,
  marked: [],
  mode: "split",
  against: "source",
  clean: null,
  tool: "move",
  candidate: "A",
  candidates: { A: null, B: null, C: null, D: null },
  plans: {},
  progress: {},
  ready: {},
  divider: 0.5,
  flipped: false,
  gain: 4,
  exposure: 0,
  gamma: 1,
  region: null,
  probe: null,
  picked: null,
  pass: 1,
  panel: "settings",
  computing: false,
  loading: false,
};

/** @type {{names: Set<keyof State>, listener: () => void}[]} */
const listeners = [];
/** @type {Set<keyof State>} */
let changed = new Set();
let told = false;

/** Sets some of the state; who listens hears of it once, after the current work. @param {Partial<State>} values */
export function set(values) {
  for (const name of /** @type {(keyof State)[]} */ (Object.keys(values))) {
    if (Object.is(state[name], values[name])) continue;
    /** @type {any} */ (state)[name] = values[name];
    changed.add(name);
  }
  if (changed.size && !told) {
    told = true;
    queueMicrotask(tell);
  }
}

function tell() {
  told = false;
  const names = changed;
  changed = new Set();
  for (const { names: wanted, listener } of listeners) {
    for (const name of names) {
      if (wanted.has(name)) {
        listener();
        break;
      }
    }
  }
}

/**
 * Calls the listener now, and whenever one of these changes.
 * @param {(keyof State)[]} names
 * @param {() => void} listener
 */
export function watch(names, listener) {
  listeners.push({ names: new Set(names), listener });
  listener();
}

/** @returns {Picture | null} the file that is shown, once it is open */
export function current() {
  const file = state.files.find((file) => file.id === state.current);
  return file && file.width > 0 && !file.error ? file : null;
}

/** @param {Candidate} [candidate] */
export function settings(candidate = state.candidate) {
  return state.candidates[candidate];
}

/** @param {string | null} file @param {Candidate} candidate @returns {Plan | null} */
export function plan(file = state.current, candidate = state.candidate) {
  return state.plans[`${file}|${candidate}`] ?? null;
}

/** @param {string} file @param {Candidate} candidate @param {Plan} made */
export function setPlan(file, candidate, made) {
  set({ plans: { ...state.plans, [`${file}|${candidate}`]: made } });
}

// The history holds candidates and which of them is edited; both are never changed in place.

/** @typedef {{candidates: State["candidates"], candidate: Candidate}} Step */
/** @type {Step[]} */
let past = [];
/** @type {Step[]} */
let future = [];
let last = { what: "", when: 0 };

/** @returns {Step} */
const step = () => ({ candidates: state.candidates, candidate: state.candidate });

/**
 * Changes the settings that are edited. Changes of one thing in quick succession, such as a slider's, are one step.
 * @param {Partial<Settings>} change
 * @param {string} [what]
 */
export function edit(change, what = Object.keys(change).join()) {
  const before = settings();
  if (!before) return;
  const after = { ...before, ...change };
  if (JSON.stringify(after) === JSON.stringify(before)) return;
  const now = Date.now();
  const name = `${state.candidate} ${what}`;
  if (last.what !== name || now - last.when > 800) past.push(step());
  last = { what: name, when: now };
  future = [];
  set({ candidates: { ...state.candidates, [state.candidate]: after } });
}

/** Edits another candidate; one that is not there begins as a copy of the present one.
 * @param {Candidate} candidate @param {boolean} [copy] */
export function choose(candidate, copy = false) {
  if (candidate === state.candidate) return;
  const candidates = { ...state.candidates };
  if (copy || !candidates[candidate]) {
    past.push(step());
    future = [];
    candidates[candidate] = settings();
  }
  last = { what: "", when: 0 };
  set({ candidates, candidate, against: state.against === candidate ? "source" : state.against });
}

/** @param {Candidate} candidate */
export function forget(candidate) {
  const others = CANDIDATES.filter((other) => other !== candidate && state.candidates[other]);
  if (!others.length || !state.candidates[candidate]) return;
  past.push(step());
  future = [];
  const next = candidate === state.candidate ? others[0] : state.candidate;
  const against = state.against === candidate || state.against === next ? "source" : state.against;
  set({ candidates: { ...state.candidates, [candidate]: null }, candidate: next, against });
}

/** @param {Step[]} from @param {Step[]} to */
function walk(from, to) {
  const target = from.pop();
  if (!target) return false;
  to.push(step());
  last = { what: "", when: 0 };
  set(target);
  return true;
}

export const undo = () => walk(past, future);
export const redo = () => walk(future, past);
export const canUndo = () => past.length > 0;
export const canRedo = () => future.length > 0;

/** Begins anew, with nothing to undo. @param {State["candidates"]} candidates @param {Candidate} candidate */
export function begin(candidates, candidate) {
  past = [];
  future = [];
  set({ candidates, candidate });
}

// What is compared with what, and where on the stage: the modes.

import { state, current, plan, CANDIDATES } from "./state.js";

/** @typedef {import("./types.js").Area} Area */
/** @typedef {import("./types.js").Layer} Layer */
/** @typedef {import("./types.js").Pane} Pane */
/** @typedef {import("./types.js").Mode} Mode */
/** @typedef {import("./types.js").Candidate} Candidate */

/** @type {{mode: Mode, name: string, title: string}[]} */
export const MODES = [
  { mode: "split", name: "Split", title: "Before and after with a divider" },
  { mode: "side", name: "Side by side", title: "Both, with linked zoom and pan" },
  { mode: "flicker", name: "Flicker", title: "One over the other; space changes them" },
  { mode: "difference", name: "Difference", title: "How far they are apart, times N" },
  { mode: "removed", name: "Removed", title: "What was taken away (method noise), times N" },
  { mode: "candidates", name: "Candidates", title: "A to D, each with its own settings" },
  { mode: "error", name: "Error", title: "How far the result is from a clean picture, times N" },
];

/** @param {string} file @param {string} [label] @returns {Layer} */
function source(file, label = "Original") {
  return { file, frame: state.frame, key: null, earlier: [], label };
}

/** @param {Candidate} candidate @returns {Layer | null} */
function result(candidate) {
  const made = plan(state.current, candidate);
  if (!state.current || !made) return null;
  const keys = [made.key, ...made.earlier].filter((key) => key !== undefined);
  if (!keys.length) return null;
  return {
    file: state.current,
    frame: state.frame,
    key: keys[0],
    earlier: keys.slice(1),
    label: candidate,
    old: made.key === undefined,
  };
}

/** The clean picture, if there is one of the same size. @returns {Layer | null} */
export function cleanLayer() {
  const file = current();
  const clean = state.files.find((other) => other.id === state.clean);
  if (!file || !clean || clean.width !== file.width || clean.height !== file.height) return null;
  return { ...source(clean.id, "Clean"), frame: Math.min(state.frame, clean.frames - 1) };
}

/** Files that may be the clean picture: others of the same size, or not opened yet. */
export function cleanFiles() {
  const file = current();
  return state.files.filter(
    (other) =>
      file &&
      other.id !== file.id &&
      !other.error &&
      (!other.width || (other.width === file.width && other.height === file.height)),
  );
}

/** What the result is compared with. @returns {Layer | null} */
export function againstLayer() {
  if (!state.current) return null;
  if (state.against === "source") return source(state.current);
  if (state.against === "clean") return cleanLayer();
  return result(state.against);
}

export const sourceLayer = () => (state.current ? source(state.current) : null);
export const resultLayer = () => result(state.candidate);

/** Candidates whose results the page shows now. @returns {Candidate[]} */
export function needed() {
  if (state.mode === "candidates") return CANDIDATES.filter((candidate) => state.candidates[candidate]);
  const other = CANDIDATES.find((candidate) => candidate === state.against && state.candidates[candidate]);
  return other && other !== state.candidate ? [state.candidate, other] : [state.candidate];
}

/** Which layer flicker shows. */
const front = () => (state.flipped ? againstLayer() : resultLayer());

/**
 * The panes of the mode on a stage of that size.
 * @param {number} width device pixels
 * @param {number} height
 * @param {number} gap between panes
 * @returns {Pane[]}
 */
export function panes(width, height, gap) {
  const stage = { x0: 0, y0: 0, x1: width, y1: height };
  const original = sourceLayer();
  if (!original) return [];
  const before = againstLayer() ?? original;
  const after = resultLayer();
  /** @param {Layer | null} layer @param {Partial<Pane>} [more] @returns {Pane} */
  const show = (layer, more = {}) => ({
    box: stage,
    clip: stage,
    operation: "show",
    first: layer ?? original,
    second: null,
    label: (layer ?? original).label,
    side: "left",
    candidate: null,
    ...more,
  });
  /** @param {"difference" | "removed" | "error"} operation @param {Layer} a @param {Layer} b @param {string} label @returns {Pane} */
  const pair = (operation, a, b, label) => ({ ...show(a), operation, second: b, label });
  const times = `× ${state.gain}`;

  // Space shows the other picture alone in every mode, to see the place without the tool.
  if (state.flipped && state.mode !== "flicker") return [show(before)];
  if (state.mode === "candidates") return grid(stage, gap, show);
  if (!after) return [show(original)];
  switch (state.mode) {
    case "split": {
      const at = Math.round(state.divider * width);
      return [
        show(before, { clip: { ...stage, x1: at } }),
        show(after, { clip: { ...stage, x0: at }, side: "right", candidate: state.candidate }),
      ];
    }
    case "side": {
      const half = Math.floor((width - gap) / 2);
      const left = { ...stage, x1: half };
      const right = { ...stage, x0: half + gap, x1: half + gap + half };
      return [
        show(before, { box: left, clip: left }),
        show(after, { box: right, clip: right, candidate: state.candidate }),
      ];
    }
    case "flicker":
      return [show(front() ?? original)];
    case "difference":
      return [pair("difference", before, after, `${before.label} and ${after.label}, difference ${times}`)];
    case "removed":
      return [pair("removed", original, after, `Removed by ${after.label}, ${times}`)];
    case "error": {
      const clean = cleanLayer();
      return clean ? [pair("error", after, clean, `Error of ${after.label}, ${times}`)] : [show(after)];
    }
  }
}

/**
 * @param {Area} stage
 * @param {number} gap
 * @param {(layer: Layer | null, more: Partial<Pane>) => Pane} show
 */
function grid(stage, gap, show) {
  const used = CANDIDATES.filter((candidate) => state.candidates[candidate]);
  const columns = used.length === 1 ? 1 : 2;
  const rows = Math.ceil(used.length / columns);
  const width = Math.floor((stage.x1 - gap * (columns - 1)) / columns);
  const height = Math.floor((stage.y1 - gap * (rows - 1)) / rows);
  return used.map((candidate, index) => {
    const x0 = (index % columns) * (width + gap);
    const y0 = Math.floor(index / columns) * (height + gap);
    const box = { x0, y0, x1: x0 + width, y1: y0 + height };
    const settings = state.candidates[candidate];
    return show(result(candidate), {
      box,
      clip: box,
      label: `${candidate}  ${settings?.method} ${settings?.profile}`,
      candidate,
    });
  });
}

// The keyboard: one table, which the overlay of `?` shows and the listener uses.

import { byId, el } from "./dom.js";
import { MODES } from "./compare.js";
import { moveDivider } from "./divider.js";
import { panBy, zoomFit, zoomStep, zoomTo, moveCross, useCross, giveUp } from "./pointer.js";
import { canvas } from "./stage.js";
import { state, set, undo, redo, choose, CANDIDATES } from "./state.js";
import { step } from "./files.js";
import { stepFrame, toggleTheme } from "./toolbar.js";
import { PANELS, openPanel } from "./side.js";

/** @typedef {{keys: string[], text: string, does: (event: KeyboardEvent) => void}} Key */

const view = () => [canvas.width * 0.8, canvas.height * 0.8];
const PAN = 64;

/** @param {KeyboardEvent} event @param {number} dx @param {number} dy */
function arrow(event, dx, dy) {
  if (event.ctrlKey || event.metaKey || state.tool !== "move") {
    const by = event.shiftKey ? 16 : 1;
    moveCross(dx * by, dy * by);
    return;
  }
  const [width, height] = view();
  const by = PAN * devicePixelRatio;
  panBy(-dx * (event.shiftKey ? width : by), -dy * (event.shiftKey ? height : by));
}

/** @type {{title: string, keys: Key[]}[]} */
const TABLE = [
  {
    title: "Look",
    keys: [
      { keys: ["Space"], text: "Tap: change between before and after. Hold: see before", does: () => {} },
      ...MODES.map(({ mode, name }, index) => ({
        keys: [String(index + 1)],
        text: name,
        does: () => set({ mode, flipped: false }),
      })),
      { keys: ["["], text: "Divider to the left", does: () => moveDivider(state.divider - 0.01) },
      { keys: ["]"], text: "Divider to the right", does: () => moveDivider(state.divider + 0.01) },
      { keys: ["{"], text: "", does: () => moveDivider(state.divider - 0.1) },
      { keys: ["}"], text: "", does: () => moveDivider(state.divider + 0.1) },
      { keys: ["\\"], text: "Divider to the middle", does: () => moveDivider(0.5) },
      { keys: ["m"], text: "Differences: times more", does: () => set({ gain: Math.min(32, state.gain * 2) }) },
      { keys: ["l"], text: "Differences: times less", does: () => set({ gain: Math.max(1, state.gain / 2) }) },
    ],
  },
  {
    title: "Move",
    keys: [
      {
        keys: ["ArrowLeft"],
        text: "Pan (Shift: far; Ctrl, or with a tool: the probe)",
        does: (event) => arrow(event, -1, 0),
      },
      { keys: ["ArrowRight"], text: "", does: (event) => arrow(event, 1, 0) },
      { keys: ["ArrowUp"], text: "", does: (event) => arrow(event, 0, -1) },
      { keys: ["ArrowDown"], text: "", does: (event) => arrow(event, 0, 1) },
      { keys: ["+", "="], text: "Zoom in", does: () => zoomStep(1) },
      { keys: ["-"], text: "Zoom out", does: () => zoomStep(-1) },
      { keys: ["z"], text: "1:1", does: () => zoomTo(1) },
      { keys: ["f"], text: "Fit", does: () => zoomFit() },
      { keys: ["PageUp"], text: "File before", does: () => step(-1) },
      { keys: ["PageDown"], text: "Next file", does: () => step(1) },
      { keys: [","], text: "Frame before", does: () => stepFrame(-1) },
      { keys: ["."], text: "Next frame", does: () => stepFrame(1) },
    ],
  },
  {
    title: "Tools",
    keys: [
      { keys: ["v"], text: "Pan and zoom", does: () => set({ tool: "move" }) },
      { keys: ["n"], text: "Measure noise in a rectangle", does: () => set({ tool: "noise" }) },
      { keys: ["g"], text: "Group of patches, or isoline, at a pixel", does: () => set({ tool: "group" }) },
      { keys: ["Enter"], text: "Use the tool at the probe; begin or end a rectangle", does: () => useCross() },
      { keys: ["Escape"], text: "Give up: rectangle, tool, group", does: escape },
    ],
  },
  {
    title: "Settings",
    keys: [
      ...CANDIDATES.map((letter) => ({
        keys: [letter.toLowerCase()],
        text: `Candidate ${letter}`,
        does: () => choose(letter),
      })),
      { keys: ["Ctrl+z"], text: "Undo", does: () => undo() },
      { keys: ["Ctrl+y", "Ctrl+Shift+z"], text: "Redo", does: () => redo() },
      ...PANELS.map(({ name, title, key }) => ({
        keys: [key],
        text: `Panel: ${title}`,
        does: () => openPanel(name, true),
      })),
    ],
  },
  {
    title: "Window",
    keys: [
      { keys: ["o"], text: "Open files", does: () => byId("open").click() },
      { keys: ["t"], text: "Dark or light", does: () => toggleTheme() },
      { keys: ["?"], text: "This list", does: () => showKeys() },
    ],
  },
];

function escape() {
  if (giveUp()) return;
  if (state.tool !== "move") set({ tool: "move" });
  else set({ picked: null, region: null });
}

const WORDS = /** @type {Record<string, string>} */ ({
  ArrowLeft: "Arrows",
  PageUp: "Page up",
  PageDown: "Page down",
  Escape: "Esc",
});

export function showKeys() {
  const dialog = /** @type {HTMLDialogElement} */ (byId("keys"));
  dialog.replaceChildren(
    el(
      "header",
      {},
      el("h2", { id: "keys-title" }, "Keyboard"),
      el("button", { type: "button", onclick: () => dialog.close() }, "Close"),
    ),
    el(
      "div",
      { class: "columns" },
      ...TABLE.map(({ title, keys }) =>
        el(
          "section",
          {},
          el("h3", {}, title),
          el(
            "dl",
            {},
            ...keys
              .filter((key) => key.text)
              .flatMap((key) => [
                el("dt", {}, ...key.keys.slice(0, 1).map((name) => el("kbd", {}, WORDS[name] ?? name))),
                el("dd", {}, key.text),
              ]),
          ),
        ),
      ),
    ),
    el(
      "p",
      { class: "dim" },
      "A candidate that is not there begins as a copy. Shift moves further. The wheel zooms by whole steps, dragging pans, a double click goes to 1:1 and back. A slider goes to its default by a double click.",
    ),
  );
  dialog.showModal();
}

/** @param {KeyboardEvent} event */
function nameOf(event) {
  const modified = event.ctrlKey || event.metaKey;
  if (event.key.startsWith("Arrow")) return event.key;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return `${modified ? "Ctrl+" : ""}${modified && event.shiftKey ? "Shift+" : ""}${key}`;
}

/** Held so long it is no tap any more. */
const HOLD = 250;
let pressed = 0;
let before = false;

/** Fields take their own keys; so do buttons space and Enter. @param {KeyboardEvent} event */
function taken(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (target.closest("dialog")) return true;
  const undoes = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z";
  if (target instanceof HTMLInputElement && ["range", "checkbox"].includes(target.type)) {
    return (
      !undoes &&
      (event.key.startsWith("Arrow") ||
        event.key === "Home" ||
        event.key === "End" ||
        event.key.startsWith("Page") ||
        (event.key === " " && target.type === "checkbox"))
    );
  }
  if (
    target instanceof HTMLInputElement ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
  )
    return true;
  return (
    (target instanceof HTMLButtonElement || target.tagName === "SUMMARY") &&
    (event.key === " " || event.key === "Enter")
  );
}

export function start() {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || taken(event)) return;
    if (event.key === " ") {
      event.preventDefault();
      if (event.repeat || pressed) return;
      pressed = performance.now();
      before = state.flipped;
      set({ flipped: !before });
      return;
    }
    const name = nameOf(event);
    const key = TABLE.flatMap(({ keys }) => keys).find(({ keys }) => keys.includes(name));
    if (!key) return;
    event.preventDefault();
    key.does(event);
  });
  addEventListener("keyup", (event) => {
    if (event.key !== " " || !pressed) return;
    // A tap stays, a press that is held goes back.
    if (performance.now() - pressed > HOLD) set({ flipped: before });
    pressed = 0;
  });
  addEventListener("blur", () => {
    if (pressed) set({ flipped: before });
    pressed = 0;
  });
}

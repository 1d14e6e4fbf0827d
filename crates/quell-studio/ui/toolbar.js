// The bar at the top: modes, what is compared, tools, zoom, undo, theme. And the bars below the picture.

import { byId, el, duration, size } from "./dom.js";
import { icon } from "./icons.js";
import { segments, slider } from "./controls.js";
import { MODES, cleanLayer, cleanFiles } from "./compare.js";
import { state, set, watch, undo, redo, canUndo, canRedo, current, plan, CANDIDATES } from "./state.js";
import { zoomFit, zoomStep, zoomTo } from "./pointer.js";
import { recolour } from "./stage.js";
import { showKeys } from "./keys.js";

/** @type {{tool: import("./types.js").Tool, title: string}[]} */
const TOOLS = [
  { tool: "move", title: "Pan and zoom (v)" },
  { tool: "noise", title: "Measure noise in a rectangle (n)" },
  { tool: "group", title: "Show the group of patches at a pixel (g)" },
];

/** @param {string} id @param {() => void} action @param {Parameters<typeof icon>[0]} [sign] */
function button(id, action, sign) {
  const element = byId(id);
  element.addEventListener("click", action);
  if (sign) element.append(icon(sign));
  return /** @type {HTMLButtonElement} */ (element);
}

function modes() {
  const bar = segments(
    byId("modes"),
    MODES.map(({ mode, name, title }, index) => ({ value: mode, text: name, title: `${title} (${index + 1})` })),
    (mode) => set({ mode, flipped: false }),
  );
  watch(["mode"], () => bar.show(state.mode));
  const against = /** @type {HTMLSelectElement} */ (byId("against"));
  against.addEventListener("change", () => {
    if (state.mode === "error") set({ clean: against.value || null });
    else set({ against: /** @type {any} */ (against.value) });
  });
  watch(["candidate", "candidates", "clean", "against", "mode", "files", "current"], () => {
    // Errors need a clean picture; everything else is compared with the original unless something else is chosen.
    const options = state.mode === "error" ? cleanOptions() : againstOptions();
    const value = state.mode === "error" ? (state.clean ?? "") : state.against;
    against.replaceChildren(...options);
    const known = options.some((option) => option.value === value);
    against.value = known ? value : options[0].value;
    if (!known && state.mode !== "error") set({ against: "source" });
    against.disabled = state.mode === "removed" || state.mode === "candidates";
    byId("choose-clean").hidden = state.mode !== "error" || !current() || cleanLayer() !== null;
  });
}

function cleanOptions() {
  const fitting = cleanFiles();
  return [
    el("option", { value: "" }, fitting.length ? "choose it" : "none is open"),
    ...fitting.map((file) => el("option", { value: file.id }, file.name)),
  ];
}

function againstOptions() {
  const options = [el("option", { value: "source" }, "original")];
  for (const letter of CANDIDATES) {
    if (letter !== state.candidate && state.candidates[letter])
      options.push(el("option", { value: letter }, `candidate ${letter}`));
  }
  if (cleanLayer()) options.push(el("option", { value: "clean" }, "clean picture"));
  return options;
}

/** Follows the system until it is changed here. */
export function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : !matchMedia("(prefers-color-scheme: light)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  recolour();
}

function viewbar() {
  const bar = byId("viewbar");
  const exposure = slider({
    name: "Exposure",
    help: "Brighter or darker on the screen, in stops; files are not changed",
    min: -6,
    max: 6,
    step: 0.1,
    standard: 0,
    change: (value) => set({ exposure: value ?? 0 }),
  });
  const gamma = slider({
    name: "Gamma",
    help: "2.2 shows linear samples as a screen wants them; files are not changed",
    min: 0.4,
    max: 3,
    step: 0.1,
    standard: 1,
    change: (value) => set({ gamma: value || 1 }),
  });
  const gain = slider({
    name: "Times",
    help: "Differences are shown this many times as large",
    min: 1,
    max: 32,
    step: 1,
    standard: 4,
    change: (value) => set({ gain: value ?? 4 }),
  });
  const flash = el(
    "button",
    { type: "button", "aria-pressed": "false", title: "Change by itself, once a second" },
    "By itself",
  );
  const flip = el(
    "button",
    {
      type: "button",
      "aria-pressed": "false",
      title: "Space, held or tapped",
      onclick: () => set({ flipped: !state.flipped }),
    },
    "Show before",
  );
  bar.append(exposure.row, gamma.row, gain.row, el("span", { class: "room" }), flash, flip);
  watch(["exposure"], () => exposure.show(state.exposure));
  watch(["gamma"], () => gamma.show(state.gamma));
  watch(["gain", "mode"], () => {
    gain.row.hidden = !["difference", "removed", "error"].includes(state.mode);
    gain.show(state.gain);
  });
  watch(["flipped"], () => flip.setAttribute("aria-pressed", String(state.flipped)));
  flashing(flash);
}

/** Nothing flashes where the system asks for less motion. @param {HTMLButtonElement} button */
function flashing(button) {
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let timer;
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
    button.setAttribute("aria-pressed", "false");
  };
  button.addEventListener("click", () => {
    if (timer) {
      stop();
      return;
    }
    button.setAttribute("aria-pressed", "true");
    timer = setInterval(() => set({ flipped: !state.flipped }), 1000);
  });
  const show = () => {
    button.hidden = state.mode !== "flicker" || still.matches;
    if (button.hidden) stop();
  };
  watch(["mode"], show);
  still.addEventListener("change", show);
}

function scrub() {
  const bar = byId("scrub");
  const range = el("input", { type: "range", min: 0, step: 1, "aria-label": "Frame" });
  const text = el("output", {});
  const go = (/** @type {number} */ by) =>
    el(
      "button",
      {
        type: "button",
        "aria-label": by < 0 ? "Frame before" : "Next frame",
        title: by < 0 ? "Frame before (,)" : "Next frame (.)",
        onclick: () => stepFrame(by),
      },
      by < 0 ? "‹" : "›",
    );
  range.addEventListener("input", () => set({ frame: Number(range.value) }));
  bar.append(go(-1), range, go(1), text);
  watch(["current", "files", "frame"], () => {
    const file = current();
    bar.hidden = !file || file.frames < 2;
    if (!file || bar.hidden) return;
    range.max = String(file.frames - 1);
    range.value = String(state.frame);
    const time = file.rate ? `, ${(state.frame / file.rate).toFixed(2)} s` : "";
    text.textContent = `${file.kind === "clip" ? "frame" : "page"} ${state.frame + 1} of ${file.frames}${time}`;
    range.setAttribute("aria-valuetext", text.textContent);
  });
}

/** @param {number} by */
export function stepFrame(by) {
  const file = current();
  if (file) set({ frame: Math.min(file.frames - 1, Math.max(0, state.frame + by)) });
}

const DEPTHS = { u8: "8 bits", u16: "16 bits", f32: "float" };

/** @param {import("./types.js").Picture} file */
function describe(file) {
  const colour = file.channels === 1 ? "grey" : "RGB";
  const parts = [`${file.width} x ${file.height}`, file.alpha ? `${colour} and alpha` : colour, DEPTHS[file.samples]];
  if (file.frames > 1) parts.push(`${file.frames} ${file.kind === "clip" ? "frames" : "pages"}`);
  return parts.join(", ");
}

function status() {
  const what = byId("what");
  watch(["current", "files"], () => {
    const file = current();
    what.textContent = file ? describe(file) : "";
    what.title = file ? [file.path, file.camera, ...(file.notes ?? [])].filter(Boolean).join("\n") : "";
  });
  const work = byId("work");
  const progress = /** @type {HTMLProgressElement} */ (byId("progress"));
  watch(["computing", "loading", "progress", "plans", "candidate", "current"], () => {
    const key = plan()?.key;
    const now = key ? state.progress[key] : undefined;
    const known = !state.loading && now && now.done < 1 ? now : null;
    progress.hidden = !state.computing && !state.loading;
    if (known) progress.value = known.done;
    else progress.removeAttribute("value");
    if (progress.hidden) work.textContent = "";
    else if (state.loading) work.textContent = "loading";
    else if (!known) work.textContent = "computing";
    else
      work.textContent = `computing ${Math.round(known.done * 100)} %${known.left ? `, ${duration(known.left)} left` : ""}`;
  });
  watch(
    ["memory"],
    () =>
      (byId("memory").textContent = state.memory.used
        ? `${size(state.memory.used)} of ${size(state.memory.limit)}`
        : ""),
  );
}

export function start() {
  modes();
  const tools = segments(
    byId("tools"),
    TOOLS.map(({ tool, title }) => ({ value: tool, icon: icon(tool), title })),
    (tool) => set({ tool }),
  );
  watch(["tool"], () => {
    tools.show(state.tool);
    byId("picture").dataset.tool = state.tool;
  });
  button("zoom-out", () => zoomStep(-1), "minus");
  button("zoom-in", () => zoomStep(1), "plus");
  button("zoom-one", () => zoomTo(1));
  button("zoom-fit", zoomFit);
  const back = button("undo", undo, "undo");
  const forth = button("redo", redo, "redo");
  watch(["candidates", "candidate"], () => {
    back.disabled = !canUndo();
    forth.disabled = !canRedo();
  });
  button("theme", toggleTheme, "theme");
  button("help", showKeys, "help");
  matchMedia("(prefers-color-scheme: light)").addEventListener("change", recolour);
  viewbar();
  scrub();
  status();
}

// The picture on the screen. Drawing happens at most once a frame of the screen and only uses what is in memory; it
// never waits for the server.

import { painter } from "./gl.js";
import { Tiles } from "./tiles.js";
import { cover } from "./area.js";
import { camera, fit, level, origin, visible, zoomText } from "./camera.js";
import { panes as panesOf } from "./compare.js";
import { drawOverlay } from "./overlay.js";
import { state, set, watch, current, plan, setPlan, CANDIDATES } from "./state.js";
import { byId, el, sayError } from "./dom.js";

/** @typedef {import("./types.js").Pane} Pane */
/** @typedef {import("./types.js").Area} Area */

export const canvas = /** @type {HTMLCanvasElement} */ (byId("picture"));
const overlay = /** @type {HTMLCanvasElement} */ (byId("overlay"));
const holder = byId("stage");
const labels = byId("labels");

/** @type {ReturnType<typeof painter>} */
let paint;
/** @type {Pane[]} */
export let panes = [];
let waits = false;
let moved = true;
/** How often the picture was drawn: the tests count pans with it. */
export let drawings = 0;

export const tiles = new Tiles({
  changed: redraw,
  failed: (_, error) => sayError(error),
  superseded(layer) {
    // Plans are made again when their settings are not the ones that are meant.
    for (const candidate of CANDIDATES) {
      const made = plan(layer.file, candidate);
      if (made?.key === layer.key && made) setPlan(layer.file, candidate, { ...made, settings: "" });
    }
  },
  drop: (piece) => paint.drop(piece),
});

/** Whether what was drawn last is still right. */
export const drawn = () => !waits;

/** Draws soon. */
export function redraw() {
  if (waits) return;
  waits = true;
  requestAnimationFrame(draw);
}

/** The camera moved, or other pictures are to be seen. */
export function rearrange() {
  moved = true;
  redraw();
}

/** @param {Pane} pane */
export function layersOf(pane) {
  return pane.second ? [pane.first, pane.second] : [pane.first];
}

/** Which panes there are, and where the picture stands if it is to fit. */
function arrange() {
  const file = current();
  panes = file ? panesOf(canvas.width, canvas.height, Math.round(2 * devicePixelRatio)) : [];
  if (file && camera.fitted && panes[0]) fit(panes[0].box, file);
  return file;
}

function draw() {
  waits = false;
  // Textures and programs are sent anew when the browser gives WebGL back.
  if (paint.lost()) return;
  drawings += 1;
  tiles.drawing += 1;
  const file = arrange();
  paint.begin(grey, state);
  if (file) for (const pane of panes) drawPane(pane, file);
  drawOverlay(overlay, panes, file);
  if (moved) {
    moved = false;
    place(file);
  }
  if (file) ask(file);
  set({ computing: tiles.waiting(), loading: tiles.loading() });
}

/** @param {Pane} pane @param {{width: number, height: number}} file */
function drawPane(pane, file) {
  const area = visible(pane.box, pane.clip, file);
  if (!area) return;
  const corner = origin(pane.box);
  paint.clip(pane.clip);
  const at = level();
  const found = tiles.find(pane.first, at, area);
  // Until there is a result its source is shown, so that the place is never lost.
  if (pane.first.key !== null) found.push(...tiles.find({ ...pane.first, key: null }, at, area));
  for (const first of cover(area, found).parts) {
    first.piece.used = tiles.drawing;
    if (!pane.second) {
      paint.draw(pane.operation, first.area, corner, camera.zoom, first.piece, null);
      continue;
    }
    for (const second of cover(first.area, tiles.find(pane.second, at, first.area)).parts) {
      second.piece.used = tiles.drawing;
      paint.draw(pane.operation, second.area, corner, camera.zoom, first.piece, second.piece);
    }
  }
}

let asked = "";

/** Asks for what is to be seen, if that has changed. @param {{width: number, height: number}} file */
function ask(file) {
  const at = level();
  /** @type {import("./tiles.js").Want[]} */
  const sources = [];
  /** @type {typeof sources} */
  const results = [];
  /** @type {typeof sources} */
  const later = [];
  for (const pane of panes) {
    const area = visible(pane.box, pane.clip, file);
    const whole = state.mode === "split" ? visible(pane.box, pane.box, file) : area;
    for (const layer of layersOf(pane)) {
      // Where a pane waits for its result, the source stands in.
      if (whole) sources.push({ layer: { ...layer, key: null }, level: at, area: whole, picture: file });
      if (layer.key === null || layer.old) continue;
      if (area) results.push({ layer, level: at, area, picture: file });
      // The other side of the divider comes after what is seen, so that it moves over what is there.
      if (whole) later.push({ layer, level: at, area: whole, picture: file });
    }
  }
  const all = [...sources, ...results, ...later];
  const text = JSON.stringify(all);
  if (text === asked) {
    tiles.pump();
    return;
  }
  asked = text;
  tiles.want(all);
}

let placed = "";

/** Labels of panes, and the zoom. @param {import("./types.js").Picture | null} file */
function place(file) {
  const ratio = devicePixelRatio;
  const text = JSON.stringify([
    file?.name,
    ratio,
    canvas.width,
    canvas.height,
    zoomText(),
    state.candidate,
    panes.map(({ label, clip }) => [label, clip]),
  ]);
  if (text === placed) return;
  placed = text;
  labels.replaceChildren(
    ...panes.map((pane) => {
      const label = el(
        "button",
        {
          type: "button",
          class: `label ${pane.side} ${pane.candidate && pane.candidate === state.candidate && panes.length > 1 ? "active" : ""}`,
          tabindex: "-1",
          "aria-hidden": "true",
          onclick: () => pane.candidate && set({ candidate: pane.candidate }),
        },
        pane.label,
      );
      label.style.top = `${pane.clip.y0 / ratio + 8}px`;
      if (pane.side === "left") label.style.left = `${pane.clip.x0 / ratio + 8}px`;
      else label.style.right = `${(canvas.width - pane.clip.x1) / ratio + 8}px`;
      return label;
    }),
  );
  byId("zoom").textContent = zoomText();
  canvas.setAttribute(
    "aria-label",
    file
      ? `${file.name}, ${panes.map((pane) => pane.label).join(" beside ")}, zoom ${zoomText()}`
      : "No picture is open",
  );
}

/** @type {[number, number, number]} */
let grey = [0.2, 0.2, 0.2];

/** Takes the colour of the stage from the style sheet. */
export function recolour() {
  const text = getComputedStyle(holder).backgroundColor;
  const [r, g, b] = (text.match(/[\d.]+/g) ?? ["51", "51", "51"]).map(Number);
  grey = [r / 255, g / 255, b / 255];
  redraw();
}

/** @param {number} width device pixels @param {number} height */
function resize(width, height) {
  for (const each of [canvas, overlay]) {
    each.width = Math.max(1, width);
    each.height = Math.max(1, height);
  }
  rearrange();
}

export function start() {
  paint = painter(canvas);
  paint.onBack(() => {
    tiles.forgetTextures();
    redraw();
  });
  const observer = new ResizeObserver(([entry]) => {
    const [width, height] = [entry.contentRect.width * devicePixelRatio, entry.contentRect.height * devicePixelRatio];
    const exact = entry.devicePixelContentBoxSize?.[0];
    // Browsers that only pretend another density tell the size in pixels of the real one.
    if (exact && Math.abs(exact.inlineSize - width) < 2) resize(exact.inlineSize, exact.blockSize);
    else resize(Math.round(width), Math.round(height));
  });
  try {
    observer.observe(canvas, { box: "device-pixel-content-box" });
  } catch {
    observer.observe(canvas);
  }
  watch(["current"], () => {
    camera.fitted = true;
    rearrange();
  });
  watch(
    [
      "files",
      "frame",
      "mode",
      "against",
      "clean",
      "candidate",
      "candidates",
      "plans",
      "divider",
      "flipped",
      "gain",
      "tool",
    ],
    rearrange,
  );
  // New settings are asked for at once, before the next picture is drawn.
  watch(["plans"], () => {
    const file = arrange();
    if (file) ask(file);
  });
  watch(["exposure", "gamma", "region", "picked", "pass"], redraw);
  watch(["connection"], () => tiles.pause(state.connection !== "there"));
  recolour();
}

/** The pane under a device pixel. @param {number} x @param {number} y */
export function paneAt(x, y) {
  return panes.find(({ clip }) => x >= clip.x0 && x < clip.x1 && y >= clip.y0 && y < clip.y1) ?? panes[0] ?? null;
}

/**
 * The pixel of the picture under a device pixel; it may lie outside.
 * @param {number} x @param {number} y
 * @returns {[number, number] | null}
 */
export function pixelAt(x, y) {
  const pane = paneAt(x, y);
  if (!pane) return null;
  const [ox, oy] = origin(pane.box);
  return [Math.floor((x - ox) / camera.zoom), Math.floor((y - oy) / camera.zoom)];
}

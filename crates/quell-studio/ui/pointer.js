// Moving over the picture by mouse, pen, touch and keys: pan, zoom, probe, rectangles, picking.

import { camera, fit, nextStep, pan, zoomAt } from "./camera.js";
import { canvas, paneAt, panes, pixelAt, rearrange, redraw } from "./stage.js";
import { cross, sketch } from "./overlay.js";
import { state, set, current } from "./state.js";

/** @typedef {import("./types.js").Box} Box */

/** Called with what a tool was used on. @type {{region: (box: Box) => void, pick: (x: number, y: number) => void}} */
export const uses = { region: () => {}, pick: () => {} };

/** @param {MouseEvent} event @returns {[number, number]} device pixels of the stage */
function place(event) {
  const bounds = canvas.getBoundingClientRect();
  return [
    (event.clientX - bounds.left) * (canvas.width / bounds.width),
    (event.clientY - bounds.top) * (canvas.height / bounds.height),
  ];
}

/** @param {number} direction 1 is closer @param {[number, number]} [at] */
export function zoomStep(direction, at) {
  zoomTo(nextStep(direction), at);
}

/** @param {number} zoom @param {[number, number]} [at] */
export function zoomTo(zoom, at) {
  const file = current();
  const pane = at ? paneAt(...at) : panes[0];
  if (!file || !pane) return;
  const [x, y] = at ?? [(pane.box.x0 + pane.box.x1) / 2, (pane.box.y0 + pane.box.y1) / 2];
  zoomAt(zoom, pane.box, x, y, file);
  rearrange();
}

export function zoomFit() {
  const file = current();
  if (!file || !panes[0]) return;
  fit(panes[0].box, file);
  rearrange();
}

/** @param {number} dx device pixels @param {number} dy */
export function panBy(dx, dy) {
  const file = current();
  if (!file) return;
  pan(dx, dy, file);
  rearrange();
}

/** @param {[number, number]} pixel @returns {[number, number]} the nearest one inside */
function inside([x, y]) {
  const file = current();
  if (!file) return [0, 0];
  return [Math.min(file.width - 1, Math.max(0, x)), Math.min(file.height - 1, Math.max(0, y))];
}

/** The rectangle with these two corners in it. @param {[number, number]} a @param {[number, number]} b @returns {Box} */
function between(a, b) {
  const [x, y] = [Math.min(a[0], b[0]), Math.min(a[1], b[1])];
  return [x, y, Math.max(a[0], b[0]) - x + 1, Math.max(a[1], b[1]) - y + 1];
}

/** Where the rectangle began. @type {[number, number] | null} */
let began = null;

/** @param {[number, number]} pixel */
function finish(pixel) {
  if (began) {
    const box = between(began, pixel);
    began = null;
    sketch.box = null;
    if (box[2] >= 8 && box[3] >= 8) uses.region(box);
    redraw();
  }
}

/** Moves the keyboard's cross. @param {number} dx pixels of the picture @param {number} dy */
export function moveCross(dx, dy) {
  const file = current();
  if (!file) return;
  const from = state.probe ?? [Math.floor(camera.x), Math.floor(camera.y)];
  const to = inside([from[0] + dx, from[1] + dy]);
  cross.shown = true;
  if (began) sketch.box = between(began, to);
  set({ probe: to });
  // The cross stays in view.
  const pane = panes[0];
  if (pane) {
    const reachX = ((pane.box.x1 - pane.box.x0) / 2 / camera.zoom) * 0.9;
    const reachY = ((pane.box.y1 - pane.box.y0) / 2 / camera.zoom) * 0.9;
    const away = (/** @type {number} */ gap, /** @type {number} */ reach) =>
      Math.sign(gap) * Math.max(0, Math.abs(gap) - reach);
    const [ax, ay] = [away(to[0] - camera.x, reachX), away(to[1] - camera.y, reachY)];
    if (ax || ay) panBy(-ax * camera.zoom, -ay * camera.zoom);
  }
  redraw();
}

/** What Enter does at the cross: picks, or begins and ends a rectangle. */
export function useCross() {
  const at = state.probe;
  if (!at || !current()) return;
  cross.shown = true;
  if (state.tool === "group") uses.pick(...at);
  else if (state.tool === "noise") {
    if (began) finish(at);
    else {
      began = at;
      sketch.box = between(at, at);
      redraw();
    }
  }
}

/** Gives up the rectangle that was begun. @returns {boolean} whether there was one */
export function giveUp() {
  const was = began !== null || cross.shown;
  began = null;
  sketch.box = null;
  cross.shown = false;
  redraw();
  return was;
}

/** Pointers that are down, by id. @type {Map<number, [number, number]>} */
const down = new Map();
let wheel = 0;
let spread = 0;

export function start() {
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 1 || !current()) return;
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    const at = place(event);
    down.set(event.pointerId, at);
    cross.shown = false;
    const pixel = pixelAt(...at);
    if (down.size === 2) spread = distance();
    else if (pixel && event.button === 0 && state.tool === "noise") began = inside(pixel);
    else if (pixel && event.button === 0 && state.tool === "group") uses.pick(...inside(pixel));
    if (state.mode === "candidates") {
      const candidate = paneAt(...at)?.candidate;
      if (candidate) set({ candidate });
    }
    canvas.classList.toggle("moving", !began);
    event.preventDefault();
  });
  canvas.addEventListener("pointermove", (event) => {
    const at = place(event);
    const from = down.get(event.pointerId);
    const pixel = pixelAt(...at);
    if (from) {
      down.set(event.pointerId, at);
      if (down.size === 2) pinch(at);
      else if (began && pixel) {
        sketch.box = between(began, inside(pixel));
        redraw();
      } else panBy(at[0] - from[0], at[1] - from[1]);
    }
    const file = current();
    const hit = pixel && file && pixel[0] >= 0 && pixel[1] >= 0 && pixel[0] < file.width && pixel[1] < file.height;
    if (hit && state.probe?.[0] === pixel[0] && state.probe[1] === pixel[1]) return;
    if (cross.shown) {
      cross.shown = false;
      redraw();
    }
    set({ probe: hit ? pixel : null });
  });
  const up = (/** @type {PointerEvent} */ event) => {
    const at = down.get(event.pointerId);
    down.delete(event.pointerId);
    canvas.classList.remove("moving");
    const pixel = at && pixelAt(...at);
    if (pixel) finish(inside(pixel));
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", (event) => {
    began = null;
    sketch.box = null;
    up(event);
  });
  canvas.addEventListener("pointerleave", () => !down.size && !cross.shown && set({ probe: null }));
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const pixels = event.deltaMode === 1 ? 40 : event.deltaMode === 2 ? 400 : 1;
      if (event.shiftKey) {
        panBy(-(event.deltaX || event.deltaY) * pixels * devicePixelRatio, 0);
        return;
      }
      // A touchpad sends many small turns, a wheel few large ones: a step is as far as one notch.
      wheel += event.deltaY * pixels * (event.ctrlKey ? 6 : 1);
      while (Math.abs(wheel) >= 50) {
        const direction = -Math.sign(wheel);
        zoomStep(direction, place(event));
        wheel = Math.abs(wheel) >= 100 ? wheel + direction * 100 : 0;
      }
    },
    { passive: false },
  );
  canvas.addEventListener("dblclick", (event) => {
    if (state.tool !== "move") return;
    if (camera.zoom === 1) zoomFit();
    else zoomTo(1, place(event));
  });
}

function distance() {
  const [a, b] = [...down.values()];
  return Math.hypot(a[0] - b[0], a[1] - b[1]);
}

/** Two fingers zoom by whole steps. @param {[number, number]} at */
function pinch(at) {
  const now = distance();
  if (now > spread * 1.35 || now < spread / 1.35) {
    zoomStep(now > spread ? 1 : -1, at);
    spread = now;
  }
}

// Where the picture stands: the pixel in the middle of a pane, and device pixels for each of its pixels.

/** @typedef {import("./types.js").Area} Area */

const WHOLE = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
/** Above 1:1 a pixel is a whole number of device pixels, below 1:1 the other way round. */
export const STEPS = [1024, 512, 256, 128, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2].map((n) => 1 / n).concat(WHOLE);

export const camera = { x: 0, y: 0, zoom: 1, fitted: true };

/** @param {Area} box @returns {[number, number]} device pixel of the picture's corner; whole, so that pixels are too */
export function origin(box) {
  return [
    Math.round((box.x0 + box.x1) / 2 - camera.x * camera.zoom),
    Math.round((box.y0 + box.y1) / 2 - camera.y * camera.zoom),
  ];
}

/**
 * The part of the picture that a pane shows.
 * @param {Area} box
 * @param {Area} clip
 * @param {{width: number, height: number}} picture
 * @returns {Area | null}
 */
export function visible(box, clip, picture) {
  const [ox, oy] = origin(box);
  const area = {
    x0: Math.max(0, Math.floor((clip.x0 - ox) / camera.zoom)),
    y0: Math.max(0, Math.floor((clip.y0 - oy) / camera.zoom)),
    x1: Math.min(picture.width, Math.ceil((clip.x1 - ox) / camera.zoom)),
    y1: Math.min(picture.height, Math.ceil((clip.y1 - oy) / camera.zoom)),
  };
  return area.x0 < area.x1 && area.y0 < area.y1 ? area : null;
}

/** @returns {number} the level whose pixels are as large as the screen's, or smaller by less than two */
export function level() {
  return Math.max(0, Math.floor(Math.log2(1 / camera.zoom) + 1e-9));
}

/** @param {Area} box @param {{width: number, height: number}} picture */
export function fit(box, picture) {
  const room = Math.min((box.x1 - box.x0) / picture.width, (box.y1 - box.y0) / picture.height);
  camera.zoom = room >= 1 ? (WHOLE.findLast((step) => step <= room) ?? 1) : room;
  camera.x = picture.width / 2;
  camera.y = picture.height / 2;
  camera.fitted = true;
}

/**
 * Zooms so that what is under a device pixel stays there.
 * @param {number} zoom
 * @param {Area} box
 * @param {number} x
 * @param {number} y
 * @param {{width: number, height: number}} picture
 */
export function zoomAt(zoom, box, x, y, picture) {
  const [ox, oy] = origin(box);
  const px = (x - ox) / camera.zoom;
  const py = (y - oy) / camera.zoom;
  camera.zoom = zoom;
  camera.x = px - (x - (box.x0 + box.x1) / 2) / zoom;
  camera.y = py - (y - (box.y0 + box.y1) / 2) / zoom;
  camera.fitted = false;
  keep(picture);
}

/** @param {number} direction 1 is closer @returns {number} the next step */
export function nextStep(direction) {
  const here = camera.zoom;
  const next =
    direction > 0 ? STEPS.find((step) => step > here * 1.001) : STEPS.findLast((step) => step < here * 0.999);
  return next ?? here;
}

/** @param {number} dx device pixels @param {number} dy @param {{width: number, height: number}} picture */
export function pan(dx, dy, picture) {
  camera.x -= dx / camera.zoom;
  camera.y -= dy / camera.zoom;
  camera.fitted = false;
  keep(picture);
}

/** The middle of the view stays on the picture, so that it cannot be lost. @param {{width: number, height: number}} picture */
function keep(picture) {
  camera.x = Math.min(picture.width, Math.max(0, camera.x));
  camera.y = Math.min(picture.height, Math.max(0, camera.y));
}

/** @returns {string} */
export function zoomText() {
  const zoom = camera.zoom;
  if (zoom >= 1) return `${Math.round(zoom * 100)} %`;
  return `${zoom >= 0.1 ? Math.round(zoom * 100) : (zoom * 100).toPrecision(2)} %`;
}

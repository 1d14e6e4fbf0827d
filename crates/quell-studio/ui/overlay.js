// Lines over the picture: the measured rectangle, the cross of the keyboard, the group of patches, the isoline.

import { camera, origin } from "./camera.js";
import { state } from "./state.js";

/** @typedef {import("./types.js").Pane} Pane */
/** @typedef {import("./types.js").Box} Box */

/** What was found at the picked pixel. @type {{group: import("./types.js").Group | null, isoline: import("./types.js").Isoline | null}} */
export const found = { group: null, isoline: null };
/** The rectangle that is being drawn. @type {{box: Box | null}} */
export const sketch = { box: null };
/** Whether the cross is shown: while the keyboard moves it. */
export const cross = { shown: false };

let empty = false;

/** From near to far: light to dark blue, readable on grey. @param {number} t */
export function near(t) {
  return `hsl(${45 + 165 * t} 90% ${62 - 8 * t}%)`;
}

/**
 * How far a distance lies between the nearest of the others and the farthest, 0 to 1.
 * @param {import("./types.js").Group} group
 * @returns {(distance: number) => number}
 */
export function distanceShare(group) {
  const others = group.matches.map((match) => match.distance).filter((distance) => distance > 0);
  const least = Math.min(...others);
  const most = Math.max(...others);
  return (distance) => (distance <= least || !(most > least) ? 0 : (distance - least) / (most - least));
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Pane[]} panes
 * @param {{width: number, height: number} | null} file
 */
export function drawOverlay(canvas, panes, file) {
  const context = canvas.getContext("2d");
  if (!context) return;
  const box = sketch.box ?? state.region;
  const something = file && (box || found.group || found.isoline || (cross.shown && state.probe));
  if (!something && empty) return;
  context.clearRect(0, 0, canvas.width, canvas.height);
  empty = !something;
  // A layer less to put together while nothing is drawn on it.
  canvas.hidden = empty;
  if (!something) return;
  const ratio = devicePixelRatio;
  for (const pane of panes) {
    context.save();
    context.beginPath();
    context.rect(pane.clip.x0, pane.clip.y0, pane.clip.x1 - pane.clip.x0, pane.clip.y1 - pane.clip.y0);
    context.clip();
    const [ox, oy] = origin(pane.box);
    /** @param {Box} r @param {string} colour @param {number} width @param {number[]} [dash] */
    const outline = (r, colour, width, dash = []) => {
      const x = ox + r[0] * camera.zoom;
      const y = oy + r[1] * camera.zoom;
      for (const [line, style] of /** @type {[number, string][]} */ ([
        [width + 2, "#000a"],
        [width, colour],
      ])) {
        context.lineWidth = line * ratio;
        context.strokeStyle = style;
        context.setLineDash(style === colour ? dash.map((n) => n * ratio) : []);
        context.strokeRect(x, y, r[2] * camera.zoom, r[3] * camera.zoom);
      }
    };
    if (box) outline(box, "#fff", 1, [5, 3]);
    const group = found.group;
    if (group) {
      const [rx, ry] = group.reference;
      const reach = (group.search - 1) / 2;
      outline(
        [rx - reach, ry - reach, group.search - 1 + group.patch, group.search - 1 + group.patch],
        "#fff9",
        1,
        [2, 4],
      );
      const share = distanceShare(group);
      for (const match of [...group.matches].reverse()) {
        outline([match.x, match.y, group.patch, group.patch], near(share(match.distance)), 1.5);
      }
      outline([rx, ry, group.patch, group.patch], "#fff", 2);
    }
    const isoline = found.isoline;
    if (isoline) {
      for (const [x, y] of isoline.points)
        outline([x + 0.25, y + 0.25, 0.5, 0.5], near(0), Math.min(3, camera.zoom / 3));
      if (state.picked) outline([...state.picked, 1, 1], "#fff", 1.5);
    }
    if (cross.shown && state.probe) {
      const [px, py] = state.probe;
      outline([px, py, 1, 1], "#fff", 1);
      const x = ox + (px + 0.5) * camera.zoom;
      const y = oy + (py + 0.5) * camera.zoom;
      const inside = camera.zoom / 2 + 4 * ratio;
      for (const [line, style] of /** @type {[number, string][]} */ ([
        [3, "#000a"],
        [1, "#fff"],
      ])) {
        context.lineWidth = line * ratio;
        context.strokeStyle = style;
        context.setLineDash([]);
        context.beginPath();
        for (const [dx, dy] of [
          [1, 0],
          [-1, 0],
          [0, 1],
          [0, -1],
        ]) {
          context.moveTo(x + dx * inside, y + dy * inside);
          context.lineTo(x + dx * (inside + 12 * ratio), y + dy * (inside + 12 * ratio));
        }
        context.stroke();
      }
    }
    context.restore();
  }
}

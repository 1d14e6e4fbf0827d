// Rectangles: what is covered by what there is, and what is missing.

/** @typedef {import("./types.js").Area} Area */

/** @param {Area} a @param {Area} b @returns {Area | null} */
export function overlap(a, b) {
  const x0 = Math.max(a.x0, b.x0);
  const y0 = Math.max(a.y0, b.y0);
  const x1 = Math.min(a.x1, b.x1);
  const y1 = Math.min(a.y1, b.y1);
  return x0 < x1 && y0 < y1 ? { x0, y0, x1, y1 } : null;
}

/** What is left of `a` without `hole`, which lies in it. @param {Area} a @param {Area} hole @returns {Area[]} */
function without(a, hole) {
  const rest = [];
  if (a.y0 < hole.y0) rest.push({ ...a, y1: hole.y0 });
  if (hole.y1 < a.y1) rest.push({ ...a, y0: hole.y1 });
  if (a.x0 < hole.x0) rest.push({ x0: a.x0, x1: hole.x0, y0: hole.y0, y1: hole.y1 });
  if (hole.x1 < a.x1) rest.push({ x0: hole.x1, x1: a.x1, y0: hole.y0, y1: hole.y1 });
  return rest;
}

/**
 * Covers an area with pieces, the best first. No pixel is covered twice; `open` is what none covers.
 * @template {{area: Area}} T
 * @param {Area} area
 * @param {Iterable<T>} pieces
 * @returns {{parts: {piece: T, area: Area}[], open: Area[]}}
 */
export function cover(area, pieces) {
  const parts = [];
  let open = [area];
  for (const piece of pieces) {
    if (!open.length) break;
    const next = [];
    for (const part of open) {
      const hit = overlap(part, piece.area);
      if (!hit) {
        next.push(part);
        continue;
      }
      parts.push({ piece, area: hit });
      next.push(...without(part, hit));
    }
    open = next;
  }
  return { parts, open };
}

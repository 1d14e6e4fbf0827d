// The samples under the pointer, before and after. Below 1:1 they are not in memory: then they are asked for, once the
// pointer rests.

import { Latest, query, samples } from "./api.js";
import { byId, short } from "./dom.js";
import { resultLayer, sourceLayer } from "./compare.js";
import { tiles } from "./stage.js";
import { state, watch, current } from "./state.js";

/** @typedef {import("./types.js").Layer} Layer */

const REST = 120;

/** @param {Layer} layer @param {number} x @param {number} y @param {AbortSignal} signal @returns {Promise<number[] | null>} */
async function fetchPixel(layer, x, y, signal) {
  const { file, frame, key } = layer;
  const place = query({ key, frame, level: 0, x, y, w: 1, h: 1 });
  try {
    return Array.from(
      (await samples(`/api/files/${file}/${key === null ? "source" : "result"}?${place}`, signal)).data,
    );
  } catch {
    return null;
  }
}

/** @param {number[] | null | undefined} pixel */
const text = (pixel) => pixel?.map((value) => (Number.isInteger(value) ? value : short(value))).join(" ") ?? "…";

export function start() {
  const place = byId("probe");
  const latest = new Latest();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  watch(["probe", "current", "frame", "plans", "candidate", "computing", "ready"], () => {
    const at = state.probe;
    const [source, result] = [sourceLayer(), resultLayer()];
    clearTimeout(timer);
    if (!at || !source || !current()) {
      place.textContent = "";
      return;
    }
    const signal = latest.next();
    const [x, y] = at;
    const show = (/** @type {number[] | null} */ before, /** @type {number[] | null} */ after) => {
      place.textContent = before || after ? `${x}, ${y}:  ${text(before)}  →  ${text(after)}` : `${x}, ${y}`;
    };
    const before = tiles.pixel(source, x, y);
    const after = result && tiles.pixel(result, x, y);
    show(before, after);
    if (before && after) return;
    timer = setTimeout(async () => {
      const first = before ?? (await fetchPixel(source, x, y, signal));
      // A result that is still computed is not hurried for one pixel.
      const complete = result && state.ready[`${result.key}|${result.file}|${result.frame}`];
      const second = after ?? (complete ? await fetchPixel(result, x, y, signal) : null);
      if (!signal.aborted) show(first, second);
    }, REST);
  });
}

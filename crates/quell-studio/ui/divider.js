// The divider of split: it belongs to the stage, not to the picture, so that no pan or zoom loses it.

import { byId } from "./dom.js";
import { state, set, watch, current } from "./state.js";

const handle = byId("divider");
const stage = byId("stage");
const EDGE = 0.02;

/** @param {number} place 0 to 1 */
export function moveDivider(place) {
  set({ divider: Math.min(1 - EDGE, Math.max(EDGE, place)) });
}

export function start() {
  watch(["divider", "mode", "flipped", "current", "files"], () => {
    handle.hidden = state.mode !== "split" || state.flipped || !current();
    handle.style.left = `${state.divider * 100}%`;
    const percent = Math.round(state.divider * 100);
    handle.setAttribute("aria-valuenow", String(percent));
    handle.setAttribute("aria-valuetext", `${percent} % before`);
  });
  handle.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    handle.setPointerCapture(event.pointerId);
    handle.focus();
    event.preventDefault();
  });
  handle.addEventListener("pointermove", (event) => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const bounds = stage.getBoundingClientRect();
    moveDivider((event.clientX - bounds.left) / bounds.width);
  });
  handle.addEventListener("dblclick", () => moveDivider(0.5));
  handle.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? 0.1 : 0.01;
    const to = {
      ArrowLeft: state.divider - step,
      ArrowDown: state.divider - step,
      ArrowRight: state.divider + step,
      ArrowUp: state.divider + step,
      PageDown: state.divider - 0.1,
      PageUp: state.divider + 0.1,
      Home: 0,
      End: 1,
      Enter: 0.5,
    }[event.key];
    if (to === undefined) return;
    moveDivider(to);
    event.preventDefault();
    event.stopPropagation();
  });
}

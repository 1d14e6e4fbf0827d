// Begins: every module is told to start, in the order in which they need each other.

import * as connection from "./connection.js";
import * as divider from "./divider.js";
import * as files from "./files.js";
import * as keys from "./keys.js";
import * as plans from "./plans.js";
import * as pointer from "./pointer.js";
import * as probe from "./probe.js";
import * as side from "./side.js";
import * as stage from "./stage.js";
import * as toolbar from "./toolbar.js";
import { camera, origin } from "./camera.js";
import { needed } from "./compare.js";
import { byId, say } from "./dom.js";
import { state, set, watch, current, edit, plan } from "./state.js";

pointer.uses.region = (region) => {
  set({ region, panel: state.panel === "inspect" ? "inspect" : "noise" });
  say(`${region[2]} x ${region[3]} pixels are measured`);
};
pointer.uses.pick = (x, y) => set({ picked: [x, y], panel: "inspect" });

try {
  stage.start();
  divider.start();
  pointer.start();
  side.start();
  toolbar.start();
  probe.start();
  files.start();
  keys.start();
  plans.start();
  connection.start();
} catch (error) {
  byId("empty").replaceChildren(/** @type {Error} */ (error).message);
  byId("empty").hidden = false;
  throw error;
}

// Who clicks with a pointer wants the keys to go to the picture afterwards: space is to flicker, not to click again.
addEventListener("click", (event) => {
  const target = /** @type {Element} */ (event.target);
  if (event.detail > 0 && target.closest("#toolbar button, #viewbar button, .segments button, .thumb"))
    stage.canvas.focus({ preventScroll: true });
});

watch(["files", "current"], () => {
  const name = state.files.find((file) => file.id === state.current)?.name;
  document.title = name ? `${name} · quell studio` : "quell studio";
});

// For the tests, and for the curious at the console.
Object.assign(globalThis, {
  studio: {
    state,
    set,
    edit,
    camera,
    plan,
    pan: pointer.panBy,
    /** Looks at a pixel. @param {number} x @param {number} y @param {number} zoom */
    look(x, y, zoom) {
      Object.assign(camera, { x, y, zoom, fitted: false });
      stage.rearrange();
    },
    key: () => plan()?.key,
    corner: () => origin(stage.panes[0].box),
    /** Whether what is seen is the result of the settings that are meant. */
    settled() {
      const file = current();
      return (
        file !== null &&
        stage.drawn() &&
        !state.computing &&
        stage.panes.length > 0 &&
        needed().every(
          (candidate) => plan(file.id, candidate)?.settings === JSON.stringify(state.candidates[candidate]),
        ) &&
        !stage.tiles.waiting() &&
        stage.tiles.jobs.length === 0
      );
    },
    get drawings() {
      return stage.drawings;
    },
  },
});

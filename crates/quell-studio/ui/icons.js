// Signs on buttons, drawn as lines of the text's colour.

import { svg } from "./dom.js";

const PATHS = {
  undo: "M4 6h6a4 4 0 0 1 0 8H6M4 6l3-3M4 6l3 3",
  redo: "M12 6H6a4 4 0 0 0 0 8h4M12 6 9 3M12 6 9 9",
  theme: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
  help: "M5.8 6a2.2 2.2 0 1 1 3.2 2c-.7.4-1 .8-1 1.7M8 12.4v.1",
  plus: "M8 3.5v9M3.5 8h9",
  minus: "M3.5 8h9",
  move: "M8 2v12M2 8h12M8 2 6.4 3.6M8 2l1.6 1.6M8 14l-1.6-1.6M8 14l1.6-1.6M2 8l1.6-1.6M2 8l1.6 1.6M14 8l-1.6-1.6M14 8l-1.6 1.6",
  noise: "M2.5 4.5v-2h2M11.5 2.5h2v2M13.5 11.5v2h-2M4.5 13.5h-2v-2M5 8h.1M8 6h.1M8 10h.1M11 8h.1M6.5 11h.1M10 5h.1",
  group: "M2.5 2.5h4v4h-4zM9.5 4.5h4v4h-4zM5.5 9.5h4v4h-4z",
  close: "M4 4l8 8M12 4l-8 8",
  reset: "M4 6.5A4.5 4.5 0 1 1 3.6 9M4 3v3.5h3.5",
};

/** @param {keyof typeof PATHS} name */
export function icon(name) {
  return svg(
    "svg",
    { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", class: "icon" },
    svg("path", { d: PATHS[name] }),
  );
}

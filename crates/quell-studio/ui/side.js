// The panels at the side, one at a time.

import { byId, el } from "./dom.js";
import { state, set, watch } from "./state.js";
import { settingsPanel } from "./panels/settings.js";
import { noisePanel } from "./panels/noise.js";
import { inspectPanel } from "./panels/inspect.js";
import { exportPanel } from "./panels/export.js";

export const PANELS = [
  { name: "settings", title: "Settings", key: "s", make: settingsPanel },
  { name: "noise", title: "Noise", key: "q", make: noisePanel },
  { name: "inspect", title: "Inspect", key: "i", make: inspectPanel },
  { name: "export", title: "Export", key: "x", make: exportPanel },
];

/** @param {string} name @param {boolean} [focus] */
export function openPanel(name, focus = false) {
  set({ panel: name });
  if (focus) byId(`tab-${name}`).focus();
}

export function start() {
  const tabs = byId("tabs");
  const panels = byId("panels");
  for (const { name, title, key, make } of PANELS) {
    tabs.append(
      el(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${name}`,
          "aria-controls": `panel-${name}`,
          title: `${title} (${key})`,
          onclick: () => openPanel(name),
        },
        title,
      ),
    );
    const panel = make();
    panel.id = `panel-${name}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", `tab-${name}`);
    panel.tabIndex = 0;
    panels.append(panel);
  }
  tabs.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const at = PANELS.findIndex(({ name }) => name === state.panel);
    openPanel(PANELS[(at + by + PANELS.length) % PANELS.length].name, true);
  });
  watch(["panel"], () => {
    for (const { name } of PANELS) {
      const on = name === state.panel;
      const tab = byId(`tab-${name}`);
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      byId(`panel-${name}`).hidden = !on;
    }
  });
}

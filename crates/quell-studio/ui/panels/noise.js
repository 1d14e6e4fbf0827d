// The noise that was found, in all of the picture or in a rectangle of it, and what may be done with it.

import { measure, post, query, Latest } from "../api.js";
import { section } from "../controls.js";
import { el, say, sayError } from "../dom.js";
import { bars, channelNames, lines, spectrum } from "../plots.js";
import { state, set, watch, edit, current } from "../state.js";

/** @typedef {import("../types.js").NoiseReport} Report */

/** @type {Map<string, Report>} */
const known = new Map();

export function noisePanel() {
  const about = el("div", { "aria-live": "polite" });
  const where = el("p", { class: "dim" });
  const latest = new Latest();
  const measureTool = el(
    "button",
    { type: "button", onclick: () => set({ tool: state.tool === "noise" ? "move" : "noise" }) },
    "Draw a rectangle",
  );
  const forget = el("button", { type: "button", onclick: () => set({ region: null }) }, "Whole picture");
  const use = el(
    "button",
    {
      type: "button",
      class: "primary",
      onclick: () => {
        const region = state.region;
        edit({ noise: region ? { kind: "region", region } : { kind: "auto" } }, "noise");
        say(region ? "The noise of the rectangle is used" : "The noise is found in each picture");
      },
    },
    "Use it",
  );
  const name = el("input", {
    type: "text",
    placeholder: "Camera and ISO",
    "aria-label": "Name of the profile",
    maxlength: 80,
  });
  const save = async () => {
    const file = current();
    if (!file) return;
    if (!name.value.trim()) {
      name.focus();
      return;
    }
    try {
      const { path } = await post(`/api/files/${file.id}/noise/save`, {
        name: name.value.trim(),
        region: state.region,
      });
      edit({ noise: { kind: "profile", path } }, "noise");
      say("The profile was saved and is used", path);
    } catch (error) {
      sayError(error);
    }
  };
  const panel = el(
    "div",
    { class: "panel" },
    section("Noise found", where, about),
    section(
      "Where it is measured",
      el("p", { class: "note" }, "A flat part without texture tells the noise best: a wall, the sky, a grey card."),
      el("div", { class: "buttons" }, measureTool, forget, use),
    ),
    section(
      "Save as a profile",
      el("p", { class: "note" }, "Noise of a camera at this ISO, for other pictures: --noise-profile."),
      el("div", { class: "row two" }, name, el("button", { type: "button", onclick: save }, "Save")),
    ),
  );
  name.addEventListener("keydown", (event) => event.key === "Enter" && save());

  watch(["tool"], () => measureTool.setAttribute("aria-pressed", String(state.tool === "noise")));
  watch(["current", "files", "frame", "region", "panel", "connection"], async () => {
    const file = current();
    const region = state.region;
    forget.disabled = !region;
    use.disabled = !file;
    if (!file || state.panel !== "noise" || state.connection !== "there") return;
    if (file.camera && !name.value) name.placeholder = file.camera;
    where.textContent = region
      ? `In ${region[2]} x ${region[3]} pixels at ${region[0]}, ${region[1]}`
      : `In all of ${file.name}`;
    const path = `/api/files/${file.id}/noise?${query({ frame: state.frame, x: region?.[0], y: region?.[1], w: region?.[2], h: region?.[3] })}`;
    const signal = latest.next();
    let report = known.get(path);
    if (!report) {
      about.classList.add("old");
      try {
        report = /** @type {Report} */ (await measure(path, signal));
        known.set(path, report);
      } catch (error) {
        if (signal.aborted) return;
        about.replaceChildren(el("p", { class: "problem" }, /** @type {Error} */ (error).message));
        about.classList.remove("old");
        return;
      }
    }
    about.classList.remove("old");
    about.replaceChildren(...describe(report));
  });
  watch(["connection"], () => known.clear());
  return panel;
}

/** @param {Report} report */
function describe(report) {
  // Without names, deviations of luma and colour are those that the line names so.
  const luma = /luma ([\d.]+)/.exec(report.text);
  const guess = luma !== null && Math.abs(Number(luma[1]) - report.sigma[0]) < 0.06;
  const names = channelNames(report.sigma.length, report.channels ? report.channels[0] === "luma" : guess);
  /** @type {Element[]} */
  const parts = [
    el("p", { class: "finding" }, report.text),
    el("h4", {}, "Deviation by channel, white is 255"),
    bars(
      "Deviation",
      report.sigma.map((value, index) => ({ value, ...(names[index] ?? { name: `${index}`, class: "grey" }) })),
      2,
    ),
  ];
  if (report.curve?.length) {
    parts.push(
      el("h4", {}, "By brightness"),
      lines(
        "Deviation by brightness",
        report.curve.map((curve) => ({
          values: curve.sigma,
          at: curve.levels,
          class: (report.curve?.length ?? 0) > 1 ? (names[curve.channel]?.class ?? "grey") : "grey",
        })),
        { left: "black", right: "white", unit: "deviation over brightness" },
      ),
    );
  }
  if (report.spectrum) parts.push(el("h4", {}, "By frequency"), spectrum("Spectrum of the noise", report.spectrum));
  return parts;
}

// Looking closer: histogram, what was removed, and how far a result is from a clean picture.

import { measure, query, Latest } from "../api.js";
import { section } from "../controls.js";
import { el, short } from "../dom.js";
import { bars, channelNames, lines, spectrum } from "../plots.js";
import { state, set, watch, current, plan } from "../state.js";
import { cleanFiles } from "../compare.js";
import { groupSection } from "./groups.js";

export function inspectPanel() {
  return el("div", { class: "panel" }, histogram(), removed(), clean(), groupSection());
}

/**
 * Measures when it is to be seen and something it depends on has changed; what is old is pale until then.
 * @param {HTMLElement} place
 * @param {(keyof import("../state.js").State)[]} names
 * @param {() => string[] | null} paths  nothing to measure: null
 * @param {(reports: any[]) => (Node | string)[]} describe
 */
function measured(place, names, paths, describe) {
  const latest = new Latest();
  let shown = "";
  watch([...names, "current", "files", "frame", "panel", "connection", "plans", "candidate"], async () => {
    if (state.panel !== "inspect" || state.connection !== "there") return;
    const wanted = current() ? paths() : null;
    const text = wanted?.join(" ") ?? "";
    if (text === shown) return;
    shown = text;
    const signal = latest.next();
    if (!wanted) {
      place.replaceChildren();
      return;
    }
    place.classList.add("old");
    try {
      const reports = [];
      for (const path of wanted) reports.push(await measure(path, signal));
      place.replaceChildren(...describe(reports));
    } catch (error) {
      if (signal.aborted) return;
      shown = "";
      place.replaceChildren(el("p", { class: "note" }, /** @type {Error} */ (error).message));
    }
    place.classList.remove("old");
  });
}

/** Changes with every result that is complete. */
const done = () => {
  const key = plan()?.key;
  return key && state.ready[`${key}|${state.current}|${state.frame}`] ? key : null;
};

function histogram() {
  const place = el("div", { "aria-live": "off" });
  measured(
    place,
    ["ready"],
    () => {
      const key = done();
      const path = `/api/files/${state.current}/histogram?`;
      return key
        ? [path + query({ frame: state.frame }), path + query({ frame: state.frame, key })]
        : [path + query({ frame: state.frame })];
    },
    (reports) =>
      reports.map((report, index) => {
        /** @type {number[][]} */
        const counts = report.counts;
        // Clipped pixels would flatten all the rest.
        const top =
          Math.max(1, ...counts.map((channel) => [...channel].sort((a, b) => b - a)[Math.min(3, channel.length - 1)])) *
          1.1;
        const names = channelNames(counts.length);
        return el(
          "div",
          {},
          el("h4", {}, index ? "After" : "Before"),
          lines(
            index ? "Histogram after" : "Histogram before",
            counts.map((values, channel) => ({ values: values.map((n) => n), class: names[channel]?.class ?? "grey" })),
            { top, left: "black", right: "white", filled: true },
          ),
        );
      }),
  );
  return section("Histogram", place);
}

function removed() {
  const place = el("div", {});
  measured(
    place,
    ["ready", "region"],
    () => {
      const key = done();
      const file = current();
      if (!key || !file) return null;
      // A part is enough for a spectrum, and quick for a large picture.
      const [w, h] = [Math.min(file.width, 1024), Math.min(file.height, 1024)];
      const [x, y, width, height] = state.region ?? [
        Math.floor((file.width - w) / 2),
        Math.floor((file.height - h) / 2),
        w,
        h,
      ];
      return [`/api/files/${file.id}/removed?${query({ key, frame: state.frame, x, y, w: width, h: height })}`];
    },
    ([report]) => {
      const names = channelNames(report.sigma.length);
      return [
        el(
          "p",
          { class: "note" },
          state.region
            ? "In the rectangle. Structures of the picture should not be seen in it."
            : "Structures of the picture should not be seen in it.",
        ),
        bars(
          "Deviation of what was removed",
          report.sigma.map((/** @type {number} */ value, /** @type {number} */ index) => ({
            value,
            ...(names[index] ?? { name: `${index}`, class: "grey" }),
          })),
          2,
        ),
        ...(report.spectrum ? [spectrum("Spectrum of what was removed", report.spectrum)] : []),
      ];
    },
  );
  return section("Removed", place);
}

function clean() {
  const list = el("select", {
    "aria-label": "The picture without noise",
    onchange: () => set({ clean: list.value || null }),
  });
  const place = el("div", { "aria-live": "polite" });
  watch(["files", "current", "clean"], () => {
    const fitting = cleanFiles();
    list.replaceChildren(
      el("option", { value: "" }, fitting.length ? "none" : "none of this size is open"),
      ...fitting.map((other) => el("option", { value: other.id }, other.name)),
    );
    list.value = state.clean ?? "";
  });
  measured(
    place,
    ["ready", "region", "clean"],
    () => {
      const key = done();
      if (!key || !state.clean || state.clean === state.current) return null;
      const region = state.region;
      const base = `/api/files/${state.current}/compare?`;
      const whole = { key, frame: state.frame, clean: state.clean };
      const paths = [base + query(whole)];
      if (region) paths.push(base + query({ ...whole, x: region[0], y: region[1], w: region[2], h: region[3] }));
      return paths;
    },
    (reports) => [
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el("tr", {}, el("th", {}, ""), el("th", { scope: "col" }, "before"), el("th", { scope: "col" }, "after")),
        ),
        el(
          "tbody",
          {},
          ...reports.flatMap((report, index) => [
            row(index ? "PSNR, rectangle" : "PSNR", report.before.psnr, report.after.psnr, " dB"),
            row(index ? "SSIM, rectangle" : "SSIM", report.before.ssim, report.after.ssim, ""),
          ]),
        ),
      ),
    ],
  );
  return section("Against a clean picture", list, place);
}

/** @param {string} name @param {number | null} before @param {number | null} after @param {string} unit */
function row(name, before, after, unit) {
  const text = (/** @type {number | null} */ value) =>
    value === null || value === undefined ? "same" : unit ? `${value.toFixed(2)}${unit}` : short(value);
  return el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, text(before)), el("td", {}, text(after)));
}

// The group of similar patches at a pixel, or its isoline: what the method saw there.

import { measure, query, Latest } from "../api.js";
import { section } from "../controls.js";
import { el, short } from "../dom.js";
import { distanceShare, found, near } from "../overlay.js";
import { raster } from "../plots.js";
import { redraw } from "../stage.js";
import { state, set, watch, current, plan, settings } from "../state.js";

/** @typedef {import("../types.js").Group} Group */
/** @typedef {import("../types.js").Isoline} Isoline */

export function groupSection() {
  const place = el("div", { "aria-live": "polite" });
  const latest = new Latest();
  const tool = el(
    "button",
    { type: "button", onclick: () => set({ tool: state.tool === "group" ? "move" : "group" }) },
    "Pick a pixel",
  );
  const passes = el(
    "select",
    { "aria-label": "Pass", onchange: () => set({ pass: passes.value === "2" ? 2 : 1 }) },
    el("option", { value: "1" }, "pass 1: hard threshold"),
    el("option", { value: "2" }, "pass 2: Wiener"),
  );
  const clear = el("button", { type: "button", onclick: () => set({ picked: null }) }, "Clear");
  watch(["tool"], () => tool.setAttribute("aria-pressed", String(state.tool === "group")));
  watch(["picked", "pass", "plans", "candidate", "current", "frame", "files"], async () => {
    const signal = latest.next();
    const made = plan();
    const file = current();
    passes.value = String(state.pass);
    clear.disabled = !state.picked;
    const isolines = settings()?.method === "isoline";
    passes.hidden = isolines;
    if (!state.picked || !file || !made?.key) {
      show(null, null);
      place.replaceChildren();
      return;
    }
    const [x, y] = state.picked;
    place.classList.add("old");
    try {
      const where = { key: made.key, frame: state.frame, x, y };
      if (isolines) {
        const isoline = /** @type {Isoline} */ (
          await measure(`/api/files/${file.id}/isolines?${query(where)}`, signal)
        );
        show(null, isoline);
        place.replaceChildren(...describeIsoline(isoline, x, y));
      } else {
        const group = /** @type {Group} */ (
          await measure(`/api/files/${file.id}/groups?${query({ ...where, pass: state.pass })}`, signal)
        );
        show(group, null);
        place.replaceChildren(...describeGroup(group));
      }
    } catch (error) {
      if (signal.aborted) return;
      show(null, null);
      place.replaceChildren(el("p", { class: "problem" }, /** @type {Error} */ (error).message));
    }
    place.classList.remove("old");
  });
  const made = section(
    "Groups and isolines",
    el(
      "p",
      { class: "note" },
      "Pick a pixel to see the patches that were filtered together there, or the line that was averaged along.",
    ),
    el("div", { class: "buttons" }, tool, passes, clear),
    place,
  );
  // What was picked is what is asked about: it comes first.
  watch(["picked"], () => {
    const panel = made.parentElement;
    if (!panel) return;
    if (state.picked) panel.prepend(made);
    else panel.append(made);
    if (state.picked) panel.scrollTop = 0;
  });
  return made;
}

/** @param {Group | null} group @param {Isoline | null} isoline */
function show(group, isoline) {
  found.group = group;
  found.isoline = isoline;
  redraw();
}

/** @param {Group} group */
function describeGroup(group) {
  const share = distanceShare(group);
  const all = [...group.before, ...group.after].flat();
  const scale = { from: Math.min(...all), to: Math.max(...all), side: 36 };
  const stack = (/** @type {number[][]} */ patches, /** @type {string} */ name) =>
    el(
      "div",
      { class: "stack" },
      ...patches.map((patch, index) => {
        const picture = raster(`${name} ${index + 1}`, patch, group.patch, group.patch, scale);
        const match = group.matches[index];
        if (match) {
          picture.title = `${match.x}, ${match.y}: distance ${short(match.distance)}`;
          picture.style.outlineColor = near(share(match.distance));
        }
        return picture;
      }),
    );
  return [
    el(
      "p",
      { class: "finding" },
      `${group.matches.length} patches of ${group.patch} x ${group.patch} at ${group.reference.join(", ")}, within ${group.search} x ${group.search}`,
    ),
    el("h4", {}, "Distances"),
    distances(group),
    el("h4", {}, "Before"),
    stack(group.before, "Patch before"),
    ...(group.after.length ? [el("h4", {}, "After"), stack(group.after, "Patch after")] : []),
  ];
}

/**
 * Thin columns beside each other.
 * @param {string} title
 * @param {{share: number, colour: string, about: string}[]} bars
 */
function columns(title, bars) {
  const row = el("div", { class: "distances", role: "img", "aria-label": title });
  for (const { share, colour, about } of bars) {
    const bar = el("span", { title: about });
    bar.style.height = `${4 + 44 * share}px`;
    bar.style.background = colour;
    row.append(bar);
  }
  return row;
}

/** @param {Group} group */
function distances(group) {
  const share = distanceShare(group);
  const all = group.matches.map((match) => match.distance);
  const far = Math.max(1e-9, ...all);
  return columns(
    `Distances from ${short(Math.min(...all))} to ${short(far)}`,
    group.matches.map(({ x, y, distance }) => ({
      share: distance / far,
      colour: near(share(distance)),
      about: `${x}, ${y}: ${short(distance)}`,
    })),
  );
}

/** @param {Isoline} isoline @param {number} x @param {number} y */
function describeIsoline(isoline, x, y) {
  const most = Math.max(1e-9, ...isoline.weights);
  return [
    el(
      "p",
      { class: "finding" },
      `At ${x}, ${y}: direction ${isoline.best + 1} of ${isoline.directions}, ${isoline.points.length} pixels along the line`,
    ),
    el("h4", {}, "Weight by direction"),
    columns(
      `Weights of ${isoline.directions} directions, the largest is ${isoline.best + 1}`,
      isoline.weights.map((weight, index) => ({
        share: weight / most,
        colour: index === isoline.best ? near(0) : "var(--grey)",
        about: `direction ${index + 1}: ${short(weight)}`,
      })),
    ),
  ];
}

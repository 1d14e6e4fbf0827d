// Every parameter of the method, made from what the server says of it: no list is written twice.

import { get, query } from "../api.js";
import { el } from "../dom.js";
import { icon } from "../icons.js";
import { state, watch, settings, edit, current } from "../state.js";

/** @typedef {import("../types.js").Parameter} Parameter */

/** Defaults depend on these. @type {Map<string, Promise<Record<string, string>>>} */
const known = new Map();

/** @param {import("../types.js").Settings} now @returns {Promise<Record<string, string>>} */
function defaults(now) {
  const sigma = now.noise.kind === "sigma" ? now.noise.sigma : 25;
  const path = `/api/defaults?${query({ method: now.method, profile: now.profile, sigma, channels: current()?.channels ?? 3 })}`;
  let asked = known.get(path);
  if (!asked) {
    asked = get(path);
    asked.catch(() => known.delete(path));
    known.set(path, asked);
  }
  return asked;
}

export function parameters() {
  const fields = el("div", { class: "fields" });
  const clear = el("button", { type: "button", onclick: () => edit({ params: {} }, "all parameters") }, "Reset all");
  const search = el("input", { type: "search", placeholder: "Find a parameter", "aria-label": "Find a parameter" });
  const count = el("span", { class: "dim" });
  const drawer = el(
    "details",
    { class: "drawer" },
    el("summary", {}, el("h3", {}, "All parameters "), count),
    el("div", { class: "row two" }, search, clear),
    fields,
  );
  /** @type {{parameter: Parameter, row: HTMLElement, show: (value: string | undefined, standard: string | undefined) => void}[]} */
  let rows = [];
  let made = "";
  search.addEventListener("input", () => {
    const text = search.value.toLowerCase();
    for (const { parameter, row } of rows)
      row.hidden = !`${parameter.name} ${parameter.help}`.toLowerCase().includes(text);
    for (const group of fields.querySelectorAll("fieldset"))
      group.hidden = !group.querySelector(".parameter:not([hidden])");
  });
  const update = async () => {
    const now = settings();
    const method = state.methods.find((other) => other.name === now?.method);
    if (!now || !method) return;
    const changed = Object.keys(now.params).length;
    count.textContent = changed ? `${changed} changed` : `${method.parameters.length}`;
    clear.disabled = !changed;
    if (!drawer.open) return;
    if (made !== method.name) {
      made = method.name;
      rows = method.parameters.map(field);
      fields.replaceChildren(...grouped(rows));
    }
    let standard = {};
    try {
      standard = await defaults(now);
    } catch {
      // Without defaults the fields are empty until the server answers again.
    }
    for (const { parameter, show } of rows)
      show(now.params[parameter.name], /** @type {Record<string, string>} */ (standard)[parameter.name]);
  };
  drawer.addEventListener("toggle", update);
  watch(["methods", "candidate", "candidates", "current"], update);
  return drawer;
}

/** Parameters with the same word before the dot stand together. @param {{parameter: Parameter, row: HTMLElement}[]} rows */
function grouped(rows) {
  /** @type {Map<string, HTMLElement[]>} */
  const groups = new Map();
  for (const { parameter, row } of rows) {
    const dot = parameter.name.indexOf(".");
    const name = dot < 0 ? "General" : parameter.name.slice(0, dot);
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  return [...groups].map(([name, members]) => el("fieldset", {}, el("legend", {}, name), ...members));
}

/** @param {Parameter} parameter */
function field(parameter) {
  const id = `parameter-${parameter.flag}`;
  const set = (/** @type {string | null} */ value) => {
    const params = { ...settings()?.params };
    if (value === null || value === "") delete params[parameter.name];
    else params[parameter.name] = value;
    edit({ params }, parameter.name);
  };
  let standard = "";
  const take = (/** @type {string} */ value) => set(value === standard ? null : value);
  const described = { id, "aria-describedby": `${id}-help` };
  /** @type {HTMLInputElement | HTMLSelectElement} */
  let input;
  if (parameter.kind === "switch") {
    const box = el("input", { ...described, type: "checkbox", onchange: () => take(String(box.checked)) });
    input = box;
  } else if (parameter.kind === "choice") {
    const list = el(
      "select",
      { ...described, onchange: () => take(list.value) },
      ...(parameter.choices ?? []).map((choice) => el("option", { value: choice }, choice)),
    );
    input = list;
  } else {
    const number = el("input", {
      ...described,
      type: "number",
      min: parameter.min,
      max: parameter.max,
      step: parameter.kind === "whole" ? 1 : "any",
      onchange: () => take(number.value.trim()),
    });
    input = number;
  }
  const reset = el(
    "button",
    {
      type: "button",
      class: "plain",
      "aria-label": `Reset ${parameter.name}`,
      title: "Reset",
      onclick: () => set(null),
    },
    icon("reset"),
  );
  const about = el("p", { id: `${id}-help`, class: "note" });
  const row = el(
    "div",
    { class: "parameter" },
    el("label", { for: id }, parameter.name.split(".").pop() ?? parameter.name),
    input,
    reset,
    about,
  );
  const range =
    (parameter.min === null && parameter.max === null) ||
    parameter.help.includes(`${parameter.min} to ${parameter.max}`)
      ? ""
      : parameter.max === null
        ? `, at least ${parameter.min}`
        : parameter.min === null
          ? `, at most ${parameter.max}`
          : `, ${parameter.min} to ${parameter.max}`;
  return {
    parameter,
    row,
    /** @param {string | undefined} value @param {string | undefined} usual */
    show(value, usual) {
      standard = usual ?? "";
      if (input instanceof HTMLInputElement && input.type === "checkbox")
        input.checked = (value ?? standard) === "true";
      else if (document.activeElement !== input || input instanceof HTMLSelectElement) input.value = value ?? standard;
      row.classList.toggle("changed", value !== undefined);
      reset.disabled = value === undefined;
      reset.classList.toggle("nothing", value === undefined);
      about.textContent = `${parameter.help}${range}${standard ? ` (default ${standard})` : ""}`;
    },
  };
}

// Rows of panels: a slider with its number, a choice, a section.

import { el } from "./dom.js";
import { icon } from "./icons.js";

let count = 0;

/**
 * A slider and a number field for the same value. `null` is the default.
 * @param {object} what
 * @param {string} what.name
 * @param {string} what.help
 * @param {number} what.min
 * @param {number} what.max
 * @param {number} what.step
 * @param {number} what.standard  the value that null means
 * @param {(value: number | null) => void} what.change
 */
export function slider({ name, help, min, max, step, standard, change }) {
  const id = `row-${(count += 1)}`;
  const range = el("input", { type: "range", id, min, max, step, title: help, "aria-describedby": `${id}-help` });
  const number = el("input", { type: "number", min, max, step, "aria-label": `${name}, number`, class: "number" });
  const reset = el(
    "button",
    {
      type: "button",
      class: "plain",
      "aria-label": `Reset ${name}`,
      title: `Reset to ${standard}`,
      onclick: () => change(null),
    },
    icon("reset"),
  );
  const take = (/** @type {string} */ text) => {
    const value = Number(text);
    if (text.trim() === "" || !Number.isFinite(value)) return;
    change(value === standard ? null : value);
  };
  range.addEventListener("input", () => take(range.value));
  number.addEventListener("change", () => take(number.value));
  range.addEventListener("dblclick", () => change(null));
  const row = el(
    "div",
    { class: "row slider" },
    el("label", { for: id, title: help }, name),
    range,
    number,
    reset,
    el("span", { id: `${id}-help`, class: "unseen" }, help),
  );
  return {
    row,
    /** @param {number | null} value */
    show(value) {
      const now = String(value ?? standard);
      if (range.value !== now) range.value = now;
      if (document.activeElement !== number) number.value = now;
      reset.classList.toggle("nothing", value === null || value === standard);
      reset.disabled = value === null || value === standard;
      row.classList.toggle("changed", value !== null && value !== standard);
    },
  };
}

/**
 * @param {string} name
 * @param {string} help
 * @param {(value: string) => void} change
 */
export function choice(name, help, change) {
  const id = `row-${(count += 1)}`;
  const select = el("select", { id, title: help, onchange: () => change(select.value) });
  const note = el("p", { class: "note" });
  let shown = "";
  return {
    row: el("div", { class: "row choice" }, el("label", { for: id, title: help }, name), select, note),
    select,
    /**
     * @param {{value: string, text: string, disabled?: boolean, help?: string | null}[]} options
     * @param {string} value
     */
    show(options, value) {
      const text = JSON.stringify(options);
      if (text !== shown) {
        select.replaceChildren(
          ...options.map((option) => el("option", { value: option.value, disabled: option.disabled }, option.text)),
        );
        shown = text;
      }
      select.value = value;
      const told = options.find((option) => option.value === value)?.help ?? "";
      note.textContent = told;
      note.hidden = !told;
    },
  };
}

/** @param {string} title @param {...(Node | string | null)} children */
export function section(title, ...children) {
  return el("section", {}, el("h3", {}, title), ...children);
}

/**
 * A group of buttons of which one is pressed; arrow keys go through them.
 * @template {string} T
 * @param {HTMLElement} place
 * @param {{value: T, text?: string, icon?: Node, title: string}[]} options
 * @param {(value: T) => void} change
 */
export function segments(place, options, change) {
  const buttons = options.map((option) =>
    el(
      "button",
      {
        type: "button",
        role: "radio",
        "aria-checked": "false",
        tabindex: "-1",
        title: option.title,
        "data-value": option.value,
        "aria-label": option.text ? null : option.title,
        onclick: () => change(option.value),
      },
      option.icon,
      option.text,
    ),
  );
  place.replaceChildren(...buttons);
  place.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const at = buttons.findIndex((button) => button === document.activeElement);
    const next = buttons[(at + by + buttons.length) % buttons.length];
    next.focus();
    next.click();
  });
  return {
    buttons,
    /** @param {T} value */
    show(value) {
      for (const button of buttons) {
        const on = button.dataset.value === value;
        button.setAttribute("aria-checked", String(on));
        button.tabIndex = on ? 0 : -1;
      }
    },
  };
}

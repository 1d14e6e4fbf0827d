// Writing results: one, or a queue, with what became of each.

import { post, Refused } from "../api.js";
import { section } from "../controls.js";
import { el, duration, say, sayError } from "../dom.js";
import { state, set, watch, settings, current } from "../state.js";

/** @typedef {import("../types.js").Export} Export */

const WORDS = { waiting: "waits", running: "is written", done: "done", failed: "failed", cancelled: "cancelled" };

export function exportPanel() {
  const name = el("input", { type: "text", "aria-label": "Name of the file", maxlength: 200 });
  const replace = el("input", { type: "checkbox", id: "replace" });
  const folder = el("p", { class: "note" });
  const one = el(
    "button",
    {
      type: "button",
      class: "primary",
      onclick: () => state.current && run([state.current], name.value.trim() || null),
    },
    "Export this",
  );
  const marked = el("button", { type: "button", onclick: () => run(state.marked, null) }, "Export marked");
  const all = el(
    "button",
    {
      type: "button",
      onclick: () =>
        run(
          state.files.map((file) => file.id),
          null,
        ),
    },
    "Export all",
  );
  const list = el("ul", { class: "queue" });
  const sum = el("p", { class: "dim", role: "status" });

  /** @param {string[]} files @param {string | null} output */
  async function run(files, output) {
    const now = settings();
    if (!now || !files.length) return;
    try {
      /** @type {Export[]} */
      const added = await post("/api/export", { files, settings: now, name: output, replace: replace.checked });
      const ids = new Set(added.map((entry) => entry.id));
      set({ queue: [...state.queue.filter((entry) => !ids.has(entry.id)), ...added] });
      say(files.length === 1 ? "One file is in the queue" : `${files.length} files are in the queue`);
    } catch (error) {
      if (error instanceof Refused && error.status === 409)
        say(error.message, error.hint ?? "tick 'Replace what exists', or give another name", true);
      else sayError(error);
    }
  }

  watch(["files", "marked", "current", "folder", "candidate"], () => {
    const file = current();
    one.disabled = !file;
    marked.disabled = !state.marked.length;
    marked.textContent = state.marked.length ? `Export ${state.marked.length} marked` : "Export marked";
    all.disabled = !state.files.length;
    all.textContent = state.files.length > 1 ? `Export all ${state.files.length}` : "Export all";
    folder.textContent = `Into ${state.folder}, with the settings of candidate ${state.candidate}`;
    name.placeholder = file ? usual(file.name) : "";
  });
  watch(["queue"], () => {
    const open = state.queue.filter((entry) => entry.state === "waiting" || entry.state === "running").length;
    const failed = state.queue.filter((entry) => entry.state === "failed").length;
    sum.textContent = !state.queue.length
      ? "Nothing was exported yet"
      : `${open ? `${open} to go` : "All done"}${failed ? `, ${failed} failed` : ""}`;
    list.replaceChildren(...[...state.queue].reverse().map(entryRow));
  });
  return el(
    "div",
    { class: "panel" },
    section(
      "Export",
      folder,
      el("div", { class: "row one" }, name),
      el("label", { class: "check" }, replace, "Replace what exists"),
      el("div", { class: "buttons" }, one, marked, all),
    ),
    section("Queue", sum, list),
  );
}

/** As the command line names it. @param {string} name */
function usual(name) {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? `${name.slice(0, dot)}.quell${name.slice(dot)}` : `${name}.quell`;
}

/** @param {Export} entry */
function entryRow(entry) {
  const open = entry.state === "waiting" || entry.state === "running";
  const left = entry.state === "running" && entry.seconds_left !== null ? `, ${duration(entry.seconds_left)} left` : "";
  return el(
    "li",
    { class: entry.state, "data-state": entry.state },
    el(
      "div",
      { class: "entry" },
      el("strong", { title: entry.output }, entry.name),
      el(
        "span",
        { class: "dim" },
        entry.state === "running" ? `${Math.round(entry.done * 100)} %${left}` : WORDS[entry.state],
      ),
      open
        ? el(
            "button",
            {
              type: "button",
              class: "plain",
              "aria-label": `Cancel ${entry.name}`,
              onclick: () => post(`/api/export/${entry.id}/cancel`, {}).catch(sayError),
            },
            "Cancel",
          )
        : null,
    ),
    open ? el("progress", { max: 1, value: entry.done, "aria-label": `${entry.name}, how far` }) : null,
    entry.error ? el("p", { class: "problem" }, entry.error, entry.hint ? el("small", {}, entry.hint) : null) : null,
    entry.state === "done" ? el("p", { class: "note" }, entry.text ?? entry.output) : null,
  );
}

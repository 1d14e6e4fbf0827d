// The strip of files, and how files come in: named on the command line, chosen, dropped, pasted.

import { get, post, upload } from "./api.js";
import { byId, el, say, sayError, size } from "./dom.js";
import { icon } from "./icons.js";
import { tiles } from "./stage.js";
import { state, set, watch } from "./state.js";

/** @typedef {import("./types.js").Picture} Picture */

/** @param {Picture} file puts what the server says of a file in its place */
function put(file) {
  const there = state.files.some((other) => other.id === file.id);
  set({
    files: there
      ? state.files.map((other) => (other.id === file.id ? { ...other, ...file } : other))
      : [...state.files, file],
  });
}

/** Shows a file; it is opened first. @param {string} id */
export async function show(id) {
  set({ current: id, frame: 0, region: null, picked: null, probe: null });
  const file = state.files.find((other) => other.id === id);
  if (!file || file.width > 0) return;
  try {
    put(await get(`/api/files/${id}`));
  } catch (error) {
    const known = /** @type {{name: string, message: string, hint?: string | null}} */ (error);
    if (known.name === "Gone") return;
    put({ ...file, error: known.message, hint: known.hint ?? null });
    sayError(error);
  }
}

/** A clean picture has to be open before it is compared with. */
function openClean() {
  const clean = state.files.find((file) => file.id === state.clean);
  if (!clean || clean.width > 0 || clean.error) return;
  get(`/api/files/${clean.id}`).then(put, sayError);
}

/** @param {number} by */
export function step(by) {
  const at = state.files.findIndex((file) => file.id === state.current);
  const next = state.files[at + by];
  if (next) show(next.id);
}

/** @param {string} id */
async function close(id) {
  try {
    await post(`/api/files/${id}/close`, {});
  } catch (error) {
    sayError(error);
    return;
  }
  const at = state.files.findIndex((file) => file.id === id);
  const files = state.files.filter((file) => file.id !== id);
  tiles.clear(id);
  set({ files, marked: state.marked.filter((other) => other !== id), clean: state.clean === id ? null : state.clean });
  if (state.current !== id) return;
  const next = files[Math.min(at, files.length - 1)];
  if (next) show(next.id);
  else set({ current: null });
}

/** @param {Iterable<File>} files */
export async function take(files) {
  for (const file of files) {
    if (state.uploadLimit && file.size > state.uploadLimit) {
      say(
        `${file.name} is larger than ${size(state.uploadLimit)}`,
        "name it on the command line: quell studio FILE",
        true,
      );
      continue;
    }
    say(`Opening ${file.name}`);
    try {
      const opened = await upload(file.name || "pasted.png", file);
      put(opened);
      await show(opened.id);
    } catch (error) {
      sayError(error);
    }
  }
}

/** @type {Promise<void>} */
let previews = Promise.resolve();

/** Thumbnails come one after the other, and only those that are seen: the picture itself needs the connections. */
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    const picture = /** @type {HTMLImageElement} */ (target);
    previews = previews.then(
      () =>
        new Promise((done) => {
          picture.onload = () => {
            picture.classList.remove("none");
            done();
          };
          picture.onerror = () => done();
          picture.src = `/api/files/${picture.dataset.id}/thumb`;
        }),
    );
  }
});

/** @param {Picture} file */
function thumbnail(file) {
  const picture = el("img", { alt: "", decoding: "async", class: "none", "data-id": file.id });
  if (!file.error) seen.observe(picture);
  const mark = el("input", {
    type: "checkbox",
    "aria-label": `Mark ${file.name} for export`,
    title: "Mark for export",
    onchange: () => {
      set({ marked: mark.checked ? [...state.marked, file.id] : state.marked.filter((other) => other !== file.id) });
    },
  });
  const note = el("span", { class: "kind" });
  const choose = el(
    "button",
    { type: "button", class: "thumb", title: file.path ?? file.name, onclick: () => show(file.id) },
    el("span", { class: "image" }, picture, note),
    el("span", { class: "name" }, file.name),
  );
  const row = el(
    "li",
    { "data-file": file.id },
    choose,
    mark,
    el(
      "button",
      {
        type: "button",
        class: "plain close",
        "aria-label": `Close ${file.name}`,
        title: "Close",
        onclick: () => close(file.id),
      },
      icon("close"),
    ),
  );
  return {
    row,
    /** @param {Picture} now */
    show(now) {
      row.classList.toggle("current", now.id === state.current);
      choose.setAttribute("aria-current", String(now.id === state.current));
      row.classList.toggle("broken", Boolean(now.error));
      note.textContent = now.error
        ? "cannot be read"
        : now.kind === "clip"
          ? "clip"
          : now.frames > 1
            ? `${now.frames} pages`
            : "";
      note.hidden = !note.textContent;
      choose.title = now.error ?? now.path ?? now.name;
      mark.checked = state.marked.includes(now.id);
    },
  };
}

export function start() {
  const list = byId("files");
  /** @type {Map<string, ReturnType<typeof thumbnail>>} */
  const rows = new Map();
  watch(["files", "current", "marked"], () => {
    for (const [id, { row }] of rows) {
      if (state.files.some((file) => file.id === id)) continue;
      row.remove();
      rows.delete(id);
    }
    for (const file of state.files) {
      let made = rows.get(file.id);
      if (!made) {
        made = thumbnail(file);
        rows.set(file.id, made);
        list.append(made.row);
      }
      made.show(file);
    }
    byId("empty").hidden = state.files.length > 0;
  });
  watch(["current"], () => rows.get(state.current ?? "")?.row.scrollIntoView({ block: "nearest" }));
  watch(["clean"], openClean);

  const chooser = /** @type {HTMLInputElement} */ (byId("chooser"));
  byId("open").addEventListener("click", () => chooser.click());
  chooser.addEventListener("change", async () => {
    await take([...(chooser.files ?? [])]);
    chooser.value = "";
  });
  addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", (event) => !event.relatedTarget && document.body.classList.remove("dropping"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    take([...(event.dataTransfer?.files ?? [])]);
  });
  addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (!files.length) return;
    event.preventDefault();
    take(files);
  });
}

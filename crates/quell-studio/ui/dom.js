// Elements without a framework.

/**
 * An element with attributes and children. Names that begin with "on" are listeners; null and false leave out.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") /** @type {any} */ (element).value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

/**
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {...(Node | string)} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** The element of that id, which is in index.html.
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @returns {T} */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`no element ${id}`);
  return /** @type {T} */ (element);
}

/**
 * A number for reading: three digits that count.
 * @param {number} value
 */
export function short(value) {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  return size >= 1000
    ? value.toFixed(0)
    : size >= 100
      ? value.toFixed(1)
      : size >= 1
        ? value.toFixed(2)
        : value.toFixed(3);
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** @param {number} bytes */
export function size(bytes) {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`;
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let fading;

/** Says something for a few seconds, to screen readers too.
 * @param {string} text
 * @param {string | null} [hint]
 * @param {boolean} [bad] */
export function say(text, hint = null, bad = false) {
  const place = byId("message");
  place.replaceChildren(el("span", {}, text), hint ? el("small", {}, hint) : "");
  place.classList.toggle("bad", bad);
  place.hidden = false;
  clearTimeout(fading);
  fading = setTimeout(() => (place.hidden = true), bad ? 12000 : 5000);
}

/** @param {unknown} error */
export function sayError(error) {
  const known = /** @type {{name?: string, message?: string, hint?: string | null}} */ (error);
  if (known?.name === "AbortError") return;
  say(known?.message ?? String(error), known?.hint ?? null, true);
}

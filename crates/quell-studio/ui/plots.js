// Small plots: curves, bars, spectra, patches. No more than the panels need.

import { el, svg, short } from "./dom.js";

/** @typedef {{values: number[], at?: number[], class: string}} Curve  `at` in 0 to 1, evenly if it is not given */

const WIDTH = 272;
const HEIGHT = 120;
const LEFT = 34;
const BOTTOM = 16;

/** A round number at or above. @param {number} value */
function roundUp(value) {
  if (!(value > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 2.5, 5, 10].find((step) => step * unit >= value) ?? 10) * unit;
}

/**
 * @param {string} title  for those who do not see it
 * @param {Curve[]} curves
 * @param {{top?: number, left: string, right: string, unit?: string, filled?: boolean}} axes
 */
export function lines(title, curves, axes) {
  const top = axes.top ?? roundUp(Math.max(...curves.flatMap((curve) => curve.values)));
  const start = axes.filled ? 0 : LEFT;
  const end = axes.filled ? WIDTH : WIDTH - 6;
  const x = (/** @type {number} */ t) => start + t * (end - start);
  const y = (/** @type {number} */ v) => 6 + (1 - Math.min(1, Math.max(0, v / top))) * (HEIGHT - BOTTOM - 6);
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "plot", role: "img", "aria-label": title });
  for (const share of [0, 0.5, 1]) {
    picture.append(svg("line", { x1: start, x2: end, y1: y(top * share), y2: y(top * share), class: "grid" }));
    if (!axes.filled) {
      picture.append(
        svg(
          "text",
          { x: LEFT - 5, y: y(top * share) + 3, class: "tick end" },
          share ? short(top * share).replace(/\.?0+$/, "") : "0",
        ),
      );
    }
  }
  picture.append(svg("text", { x: start, y: HEIGHT - 3, class: "tick" }, axes.left));
  picture.append(svg("text", { x: end, y: HEIGHT - 3, class: "tick end" }, axes.right));
  if (axes.unit) picture.append(svg("text", { x: (LEFT + WIDTH) / 2, y: HEIGHT - 3, class: "tick middle" }, axes.unit));
  for (const curve of curves) {
    const points = curve.values.map((value, index) => {
      const t = curve.at ? curve.at[index] : index / Math.max(1, curve.values.length - 1);
      return `${x(t).toFixed(1)},${y(value).toFixed(1)}`;
    });
    if (axes.filled) points.push(`${x(1)},${y(0)}`, `${x(0)},${y(0)}`);
    picture.append(
      svg(axes.filled ? "polygon" : "polyline", { points: points.join(" "), class: `curve ${curve.class}` }),
    );
  }
  return picture;
}

/**
 * Bars beside each other, with their value.
 * @param {string} title
 * @param {{name: string, value: number, class: string}[]} bars
 * @param {number} [least] the scale ends there or above
 */
export function bars(title, bars, least = 0) {
  const top = roundUp(Math.max(least, ...bars.map((bar) => bar.value)));
  const row = 20;
  const picture = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${bars.length * row}`,
    class: "plot",
    role: "img",
    "aria-label": `${title}: ${bars.map((bar) => `${bar.name} ${short(bar.value)}`).join(", ")}`,
  });
  bars.forEach((bar, index) => {
    const y = index * row;
    picture.append(
      svg("text", { x: LEFT - 5, y: y + 13, class: "tick end" }, bar.name),
      svg("rect", { x: LEFT, y: y + 4, width: WIDTH - LEFT - 52, height: 11, class: "track" }),
      svg("rect", {
        x: LEFT,
        y: y + 4,
        width: Math.max(1, (bar.value / top) * (WIDTH - LEFT - 52)),
        height: 11,
        class: `bar ${bar.class}`,
      }),
      svg("text", { x: WIDTH - 6, y: y + 13, class: "tick end strong" }, short(bar.value)),
    );
  });
  return picture;
}

/**
 * A picture of numbers, as grey, stretched from the smallest to the largest.
 * @param {string} title
 * @param {ArrayLike<number>} values
 * @param {number} width
 * @param {number} height
 * @param {{from?: number, to?: number, side?: number}} [options]
 */
export function raster(title, values, width, height, options = {}) {
  const canvas = el("canvas", { width, height, role: "img", "aria-label": title, class: "raster" });
  if (options.side) {
    canvas.style.width = `${options.side}px`;
    canvas.style.height = `${(options.side * height) / width}px`;
  }
  let from = options.from ?? Infinity;
  let to = options.to ?? -Infinity;
  for (let index = 0; index < values.length; index += 1) {
    if (!Number.isFinite(values[index])) continue;
    if (options.from === undefined) from = Math.min(from, values[index]);
    if (options.to === undefined) to = Math.max(to, values[index]);
  }
  const context = canvas.getContext("2d");
  if (!context) return canvas;
  const pixels = context.createImageData(width, height);
  for (let index = 0; index < width * height; index += 1) {
    const grey = Math.round((255 * (values[index] - from)) / Math.max(1e-12, to - from));
    pixels.data.set([grey, grey, grey, 255], index * 4);
  }
  context.putImageData(pixels, 0, 0);
  return canvas;
}

/** Decades above and below the middle that a spectrum is shown over, at least: white noise is to look like even grey. */
const DECADES = 1.2;

/** @param {string} title @param {import("./types.js").Spectrum} spectrum */
export function spectrum(title, { size, power }) {
  const sorted = power.filter(Number.isFinite).sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const to = Math.max(middle + DECADES, sorted[sorted.length - 1] ?? 0);
  const from = Math.min(middle - DECADES, Math.max(sorted[0] ?? 0, middle - 3));
  return el(
    "figure",
    {},
    raster(title, power, size, size, { from, to, side: 128 }),
    el(
      "figcaption",
      {},
      "Low frequencies in the middle, high ones at the edges. White noise is even; blotches are bright in the middle.",
    ),
  );
}

/** Names and colours of channels. @param {number} channels @param {boolean} [luma]  luma and two of colour */
export function channelNames(channels, luma = false) {
  return luma
    ? [
        { name: "luma", class: "grey" },
        { name: "C1", class: "red" },
        { name: "C2", class: "blue" },
      ]
    : channels === 1
      ? [{ name: "Y", class: "grey" }]
      : [
          { name: "R", class: "red" },
          { name: "G", class: "green" },
          { name: "B", class: "blue" },
        ];
}

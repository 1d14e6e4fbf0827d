// Pieces of pictures: which there are, which are wanted, which are being fetched. Drawing takes what there is and never
// waits; what is missing is asked for here, what nobody wants any more is given up.

import { query, samples, Gone, Refused } from "./api.js";
import { cover, overlap } from "./area.js";

/** @typedef {import("./types.js").Area} Area */
/** @typedef {import("./types.js").Piece} Piece */
/** @typedef {import("./types.js").Layer} Layer */

const TILE = 512;
/** Results are asked for in parts as large as what is missing, but not larger or smaller than this; else in tiles. */
const PART = { most: 1280, least: 128 };
/**
 * A browser keeps six connections to a server: one for events, one for settings, one for measurements. Of results one at a
 * time, since the server computes first what is asked for last.
 */
const AT_ONCE = { source: 2, result: 1 };
const LIMIT = 384e6;

/** @typedef {{layer: Layer, level: number, area: Area, picture: {width: number, height: number}}} Want  what is to be seen */
/** @typedef {{name: string, layer: Layer, level: number, area: Area, controller: AbortController}} Job */

/** @param {string} file @param {string | null} key @param {number} frame */
const nameOf = (file, key, frame) => `${file}|${frame}|${key ?? ""}`;

export class Tiles {
  /**
   * @param {{changed: () => void, failed: (layer: Layer, error: unknown) => void, superseded: (layer: Layer) => void,
   *   drop: (piece: Piece) => void}} listeners
   */
  constructor(listeners) {
    this.listeners = listeners;
    /** @type {Map<string, Piece[]>} */
    this.pieces = new Map();
    /** @type {Job[]} */
    this.jobs = [];
    /** @type {Want[]} */
    this.wants = [];
    /** Results that failed are not asked for again. @type {Set<string>} */
    this.failed = new Set();
    this.bytes = 0;
    this.drawing = 0;
    this.paused = false;
  }

  /**
   * Pieces of a layer in an area, those of this level first, then finer, then coarser ones, then those of earlier settings.
   * @param {Layer} layer
   * @param {number} level
   * @param {Area} area
   * @param {boolean} [exact]  only of this level, only of these settings
   * @returns {Piece[]}
   */
  find(layer, level, area, exact = false) {
    /** @type {Piece[]} */
    const found = [];
    const keys = layer.key === null ? [null] : exact ? [layer.key] : [layer.key, ...layer.earlier];
    for (const key of keys) {
      const here = (this.pieces.get(nameOf(layer.file, key, layer.frame)) ?? []).filter(
        (piece) => overlap(piece.area, area) && (!exact || piece.level === level),
      );
      const rank = (/** @type {Piece} */ piece) => (piece.level <= level ? level - piece.level : 16 + piece.level);
      found.push(...here.sort((a, b) => rank(a) - rank(b)));
    }
    return found;
  }

  /** @param {Layer} layer @param {number} x @param {number} y @returns {number[] | null} the samples of a pixel */
  pixel(layer, x, y) {
    const area = { x0: x, y0: y, x1: x + 1, y1: y + 1 };
    const piece = this.find({ ...layer, earlier: [] }, 0, area, true)[0];
    if (!piece) return null;
    const at = ((y - piece.area.y0) * piece.width + (x - piece.area.x0)) * piece.channels;
    return Array.from(piece.data.subarray(at, at + piece.channels));
  }

  /** Says what is to be seen; the most important first. @param {Want[]} wants */
  want(wants) {
    this.wants = wants;
    for (const job of this.jobs) {
      const wanted = wants.some(
        (want) =>
          nameOf(want.layer.file, want.layer.key, want.layer.frame) === job.name &&
          want.level === job.level &&
          overlap(want.area, job.area),
      );
      if (!wanted) job.controller.abort();
    }
    this.jobs = this.jobs.filter((job) => !job.controller.signal.aborted);
    this.pump();
  }

  /** Whether sources are on their way. */
  loading() {
    return this.jobs.some((job) => job.layer.key === null);
  }

  /** Whether results that are to be seen are missing. */
  waiting() {
    return this.wants.some(
      (want) =>
        want.layer.key !== null &&
        !this.failed.has(want.layer.key) &&
        cover(want.area, this.find(want.layer, want.level, want.area, true)).open.length > 0,
    );
  }

  pump() {
    if (this.paused) return;
    for (const want of this.wants) {
      const kind = want.layer.key === null ? "source" : "result";
      const name = nameOf(want.layer.file, want.layer.key, want.layer.frame);
      if (this.failed.has(want.layer.key ?? name)) continue;
      // The picture itself comes first: of a very large one even that takes a while.
      if (kind === "result" && this.loading()) break;
      for (;;) {
        if (this.jobs.filter((job) => (job.layer.key === null) === (kind === "source")).length >= AT_ONCE[kind]) break;
        const coming = this.jobs.filter((job) => job.name === name && job.level === want.level);
        const there = this.find(want.layer, want.level, want.area, true);
        const { open } = cover(want.area, [...there, ...coming]);
        if (!open.length) break;
        const whole = kind === "result" && want.level === 0 ? part(open) : null;
        this.fetch(want, name, whole ?? tile(open, want));
      }
    }
  }

  /** @param {Want} want @param {string} name @param {Area} area */
  fetch(want, name, area) {
    const { layer, level } = want;
    /** @type {Job} */
    const job = { name, layer, level, area, controller: new AbortController() };
    this.jobs.push(job);
    const scale = 2 ** level;
    const x = area.x0 / scale;
    const y = area.y0 / scale;
    const place = query({
      key: layer.key,
      frame: layer.frame,
      level,
      x,
      y,
      w: Math.ceil(area.x1 / scale) - x,
      h: Math.ceil(area.y1 / scale) - y,
    });
    samples(
      `/api/files/${layer.file}/${layer.key === null ? "source" : "result"}?${place}`,
      job.controller.signal,
    ).then(
      (got) => {
        this.jobs = this.jobs.filter((other) => other !== job);
        this.keep({ ...got, layer: name, level, area, texture: null, used: this.drawing });
        this.listeners.changed();
        this.pump();
      },
      (error) => {
        const given = job.controller.signal.aborted;
        this.jobs = this.jobs.filter((other) => other !== job);
        if (given || error instanceof Gone) return;
        this.failed.add(layer.key ?? name);
        if (error instanceof Refused && error.status === 409 && layer.key) this.again(layer, layer.key);
        else this.listeners.failed(layer, error);
        this.listeners.changed();
      },
    );
  }

  /**
   * Superseded: mostly the page has newer settings already. If not, another window took the candidate, and these settings
   * are sent again after a while.
   * @param {Layer} layer
   * @param {string} key
   */
  again(layer, key) {
    setTimeout(() => {
      this.failed.delete(key);
      this.listeners.superseded(layer);
    }, 400);
  }

  /** @param {Piece} piece */
  keep(piece) {
    const list = this.pieces.get(piece.layer) ?? [];
    // What lies in the new piece is not needed any more.
    const inside = list.filter(
      (old) =>
        old.level === piece.level &&
        old.area.x0 >= piece.area.x0 &&
        old.area.x1 <= piece.area.x1 &&
        old.area.y0 >= piece.area.y0 &&
        old.area.y1 <= piece.area.y1,
    );
    this.pieces.set(piece.layer, [piece, ...list.filter((old) => !inside.includes(old))]);
    for (const old of inside) this.drop(old);
    this.bytes += piece.data.byteLength;
    if (this.bytes > LIMIT) this.trim();
  }

  /** Forgets what was drawn longest ago. */
  trim() {
    const all = [...this.pieces.values()].flat().sort((a, b) => a.used - b.used);
    for (const piece of all) {
      if (this.bytes <= LIMIT * 0.8 || piece.used >= this.drawing - 1) break;
      const rest = (this.pieces.get(piece.layer) ?? []).filter((other) => other !== piece);
      if (rest.length) this.pieces.set(piece.layer, rest);
      else this.pieces.delete(piece.layer);
      this.drop(piece);
    }
  }

  /** @param {Piece} piece */
  drop(piece) {
    this.bytes -= piece.data.byteLength;
    this.listeners.drop(piece);
  }

  /** Forgets a file, or everything. @param {string} [file] */
  clear(file) {
    for (const [name, list] of this.pieces) {
      if (file !== undefined && !name.startsWith(`${file}|`)) continue;
      this.pieces.delete(name);
      for (const piece of list) this.drop(piece);
    }
    this.failed.clear();
  }

  /** The server is gone or back. @param {boolean} paused */
  pause(paused) {
    this.paused = paused;
    if (paused) for (const job of this.jobs) job.controller.abort();
    if (paused) this.jobs = [];
    else this.pump();
  }

  /** Textures are gone. */
  forgetTextures() {
    for (const list of this.pieces.values()) for (const piece of list) piece.texture = null;
  }
}

/** The largest missing part, or the middle of it; narrow ones are left to tiles. @param {Area[]} open @returns {Area | null} */
function part(open) {
  const size = (/** @type {Area} */ area) => (area.x1 - area.x0) * (area.y1 - area.y0);
  const largest = open.reduce((a, b) => (size(b) > size(a) ? b : a));
  if (Math.min(largest.x1 - largest.x0, largest.y1 - largest.y0) < PART.least && open.length > 1) return null;
  const cut = (/** @type {number} */ from, /** @type {number} */ to) => {
    if (to - from <= PART.most) return [from, to];
    const start = Math.floor((from + to - PART.most) / 2);
    return [start, start + PART.most];
  };
  const [x0, x1] = cut(largest.x0, largest.x1);
  const [y0, y1] = cut(largest.y0, largest.y1);
  return { x0, y0, x1, y1 };
}

/** The tile with the nearest missing part to the middle. @param {Area[]} open @param {Want} want @returns {Area} */
function tile(open, { area, level, picture }) {
  const side = TILE * 2 ** level;
  const mx = (area.x0 + area.x1) / 2;
  const my = (area.y0 + area.y1) / 2;
  let best = { x: 0, y: 0, distance: Infinity };
  for (const part of open) {
    const px = Math.min(Math.max(mx, part.x0), part.x1 - 1);
    const py = Math.min(Math.max(my, part.y0), part.y1 - 1);
    const distance = (px - mx) ** 2 + (py - my) ** 2;
    if (distance < best.distance) best = { x: Math.floor(px / side) * side, y: Math.floor(py / side) * side, distance };
  }
  return {
    x0: best.x,
    y0: best.y,
    x1: Math.min(best.x + side, picture.width),
    y1: Math.min(best.y + side, picture.height),
  };
}

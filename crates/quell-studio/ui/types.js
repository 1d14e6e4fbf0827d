// Shapes of what the server and the modules hand to each other. Nothing runs here: the types are for `tsc`.

/**
 * @typedef {object} Picture  A file as the server describes it (API.md calls it File).
 * @property {string} id
 * @property {string} name
 * @property {string} path
 * @property {"picture" | "clip"} kind
 * @property {number} width
 * @property {number} height
 * @property {number} channels
 * @property {boolean} [alpha]
 * @property {number} frames
 * @property {number | null} rate
 * @property {Samples} samples
 * @property {number} white
 * @property {boolean} tiled
 * @property {string | null} camera
 * @property {string[]} notes
 * @property {string | null} error
 * @property {string | null} hint
 */

/** @typedef {"u8" | "u16" | "f32"} Samples */
/** @typedef {Uint8Array | Uint16Array | Float32Array} Values */
/** @typedef {[number, number, number, number]} Box  x, y, width, height */

/**
 * @typedef {object} Parameter
 * @property {string} name
 * @property {string} flag
 * @property {string} help
 * @property {"whole" | "number" | "switch" | "choice"} kind
 * @property {string[]} [choices]
 * @property {number | null} min
 * @property {number | null} max
 */

/**
 * @typedef {object} Method
 * @property {string} name
 * @property {string} help
 * @property {{name: string, help: string | null, default: boolean}[]} profiles
 * @property {Parameter[]} parameters
 */

/** @typedef {{flag: string, name: string, usable: boolean, problem: string | null}} Device */

/**
 * @typedef {{kind: "auto"} | {kind: "sigma", sigma: number} | {kind: "region", region: Box}
 *   | {kind: "profile", path: string}} Noise
 */

/**
 * @typedef {object} Settings
 * @property {string} method
 * @property {string} profile
 * @property {string} device
 * @property {Noise} noise
 * @property {number | null} strength
 * @property {number | null} luma
 * @property {number | null} chroma
 * @property {number | null} detail
 * @property {number | null} grain
 * @property {Record<string, string>} params
 */

/** @typedef {"A" | "B" | "C" | "D"} Candidate */

/**
 * @typedef {object} Plan  Settings that the server has checked for a file.
 * @property {string} [key]
 * @property {string} [command]
 * @property {string} [python]
 * @property {string} [toml]
 * @property {string[]} [flags]
 * @property {string} [error]
 * @property {string | null} [hint]
 * @property {string} settings  as JSON, to tell whether they are still meant
 * @property {string[]} earlier  keys whose results may stand in until the new ones are there
 */

/**
 * @typedef {object} Export
 * @property {string} id
 * @property {string} file
 * @property {string} name
 * @property {string} output
 * @property {"waiting" | "running" | "done" | "failed" | "cancelled"} state
 * @property {number} done
 * @property {number | null} seconds_left
 * @property {string | null} text
 * @property {string | null} error
 * @property {string | null} hint
 */

/** @typedef {{size: number, power: number[]}} Spectrum */

/**
 * @typedef {object} NoiseReport
 * @property {number[]} sigma
 * @property {string[]} [channels]  what the deviations are of
 * @property {string} text
 * @property {null | {channel: number, levels: number[], sigma: number[]}[]} curve
 * @property {null | Spectrum} spectrum
 * @property {boolean} clean
 */

/**
 * @typedef {object} Group
 * @property {number} patch
 * @property {number} search
 * @property {[number, number]} reference
 * @property {{x: number, y: number, distance: number}[]} matches
 * @property {number[][]} before
 * @property {number[][]} after
 */

/** @typedef {{directions: number, best: number, points: [number, number][], weights: number[]}} Isoline */

/** @typedef {"split" | "side" | "flicker" | "difference" | "removed" | "candidates" | "error"} Mode */
/** @typedef {"move" | "noise" | "group"} Tool */

/** @typedef {{x0: number, y0: number, x1: number, y1: number}} Area  half open */

/**
 * @typedef {object} Piece  Samples of a part of a layer, in memory and, once drawn, on the GPU.
 * @property {string} layer
 * @property {number} level
 * @property {Area} area  in pixels of the picture
 * @property {number} width
 * @property {number} height
 * @property {number} channels
 * @property {Samples} samples
 * @property {number} white
 * @property {Values} data
 * @property {WebGLTexture | null} texture
 * @property {number} used  the drawing that used it last
 */

/**
 * @typedef {object} Layer  One picture of a comparison: a source, or a result by its settings.
 * @property {string} file
 * @property {number} frame
 * @property {string | null} key  null: the source
 * @property {string[]} earlier
 * @property {string} label
 * @property {boolean} [old]  stands in for settings that were refused: nothing more is computed of it
 */

/**
 * @typedef {object} Pane
 * @property {Area} box  where the camera looks, in device pixels
 * @property {Area} clip  what of it is drawn
 * @property {Operation} operation
 * @property {Layer} first
 * @property {Layer | null} second
 * @property {string} label
 * @property {"left" | "right"} side  where the label stands
 * @property {Candidate | null} candidate
 */

/** @typedef {"show" | "difference" | "removed" | "error"} Operation */

export {};

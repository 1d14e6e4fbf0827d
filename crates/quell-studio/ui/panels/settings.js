// Settings up front: candidates, method, profile, device, noise, strength and taste; presets; copies for other places.

import { get, post } from "../api.js";
import { choice, section, segments, slider } from "../controls.js";
import { el, say, sayError } from "../dom.js";
import { state, watch, settings, edit, choose, forget, plan, CANDIDATES } from "../state.js";
import { parameters } from "./parameters.js";

/** @typedef {import("../types.js").Settings} Settings */

/** Settings of a method that nobody has edited. @returns {Settings} */
export function standard() {
  const method = state.methods[0];
  return {
    method: method?.name ?? "bm3d",
    profile: standardProfile(method),
    device: "auto",
    noise: { kind: "auto" },
    strength: null,
    luma: null,
    chroma: null,
    detail: null,
    grain: null,
    params: {},
  };
}

/** @param {import("../types.js").Method | undefined} method */
function standardProfile(method) {
  return (method?.profiles.find((profile) => profile.default) ?? method?.profiles[0])?.name ?? "normal";
}

/** @type {{name: "strength" | "luma" | "chroma" | "detail" | "grain", text: string, help: string, max: number, standard: number}[]} */
const TASTE = [
  { name: "strength", text: "Strength", help: "Filter as for this many times the noise", max: 3, standard: 1 },
  {
    name: "luma",
    text: "Luma",
    help: "Filter luma as for this many times its noise; 0 leaves it alone",
    max: 3,
    standard: 1,
  },
  {
    name: "chroma",
    text: "Chroma",
    help: "Filter colour as for this many times its noise; 0 leaves it alone",
    max: 3,
    standard: 1,
  },
  {
    name: "detail",
    text: "Detail",
    help: "Give back this part of the detail that was taken for noise",
    max: 1,
    standard: 0,
  },
  {
    name: "grain",
    text: "Grain",
    help: "Leave this part of the noise, so that nothing looks like wax",
    max: 1,
    standard: 0,
  },
];

/** Settings are made anew from their parts: a shallow copy would share nothing that is changed in place. */
const CHANGES = /** @type {const} */ ({
  /** @param {string} method */
  method: (method) =>
    edit({ method, profile: standardProfile(state.methods.find((other) => other.name === method)), params: {} }),
  /** @param {string} profile */
  profile: (profile) => edit({ profile, params: {} }),
  /** @param {string} device */
  device: (device) => edit({ device }),
});

export function settingsPanel() {
  const candidates = el("div", {
    class: "segments wide",
    role: "radiogroup",
    "aria-label": "Candidate that is edited",
  });
  const letters = segments(
    candidates,
    CANDIDATES.map((value) => ({ value, text: value, title: `Candidate ${value} (${value.toLowerCase()})` })),
    (value) => choose(value),
  );
  const remove = el(
    "button",
    { type: "button", class: "plain", title: "Forget this candidate", onclick: () => forget(state.candidate) },
    "Forget",
  );
  const problem = el("p", { class: "problem", role: "alert", hidden: true });
  const method = choice("Method", "How noise is removed", CHANGES.method);
  const profile = choice("Profile", "Quality against speed", CHANGES.profile);
  const device = choice("Device", "Where it is computed", CHANGES.device);
  const tastes = TASTE.map((taste) => ({
    taste,
    control: slider({
      name: taste.text,
      help: taste.help,
      min: 0,
      max: taste.max,
      step: 0.05,
      standard: taste.standard,
      change: (value) => edit({ [taste.name]: value }),
    }),
  }));
  const noise = noiseChoice();
  const panel = el(
    "div",
    { class: "panel" },
    el("div", { class: "candidates" }, candidates, remove),
    problem,
    section("Method", method.row, profile.row, device.row),
    section("Noise", ...noise.rows),
    section("Filter", ...tastes.map(({ control }) => control.row)),
    parameters(),
    presets(),
    copies(),
  );
  watch(["methods", "devices", "candidate", "candidates", "plans", "current"], () => {
    const now = settings();
    letters.show(state.candidate);
    for (const button of letters.buttons) {
      const letter = /** @type {import("../types.js").Candidate} */ (button.dataset.value);
      button.classList.toggle("unused", !state.candidates[letter]);
      button.title = state.candidates[letter]
        ? `Candidate ${letter} (${letter.toLowerCase()})`
        : `Begin candidate ${letter} as a copy of ${state.candidate} (${letter.toLowerCase()})`;
    }
    remove.disabled = CANDIDATES.filter((letter) => state.candidates[letter]).length < 2;
    if (!now) return;
    const chosen = state.methods.find((other) => other.name === now.method);
    method.show(
      state.methods.map(({ name, help }) => ({ value: name, text: name, help })),
      now.method,
    );
    profile.show(
      (chosen?.profiles ?? []).map(({ name, help }) => ({ value: name, text: name, help })),
      now.profile,
    );
    device.show(deviceOptions(), now.device);
    for (const { taste, control } of tastes) control.show(now[taste.name]);
    noise.show(now);
    const made = plan();
    problem.hidden = !made?.error;
    problem.replaceChildren(made?.error ?? "", made?.hint ? el("small", {}, made.hint) : "");
  });
  return panel;
}

function deviceOptions() {
  const options = state.devices.map((device) => ({
    value: device.flag,
    text: device.usable ? `${device.flag}: ${device.name}` : `${device.flag}: not usable`,
    disabled: !device.usable,
    help: device.problem,
  }));
  if (!options.some((option) => option.value === "auto")) {
    options.unshift({ value: "auto", text: "auto: the best that works", disabled: false, help: null });
  }
  return options;
}

function noiseChoice() {
  const kind = choice("Noise", "How strong the noise is", (value) => {
    if (value === "auto") edit({ noise: { kind: "auto" } });
    else if (value === "sigma") edit({ noise: { kind: "sigma", sigma: 10 } });
    else if (value === "region" && state.region) edit({ noise: { kind: "region", region: state.region } });
  });
  const sigma = slider({
    name: "Sigma",
    help: "Deviation of the noise, on the scale on which white is 255",
    min: 0,
    max: 100,
    step: 0.5,
    standard: 10,
    change: (value) => edit({ noise: { kind: "sigma", sigma: value ?? 10 } }),
  });
  return {
    rows: [kind.row, sigma.row],
    /** @param {Settings} now */
    show(now) {
      const region = now.noise.kind === "region" ? now.noise.region : state.region;
      /** @type {Parameters<typeof kind.show>[0]} */
      const options = [
        { value: "auto", text: "found in each picture" },
        { value: "sigma", text: "given by hand" },
        {
          value: "region",
          text: region ? `measured at ${region.join(", ")}` : "measured in a rectangle",
          disabled: !region,
          help: now.noise.kind === "region" ? "The same rectangle of every picture" : null,
        },
      ];
      if (now.noise.kind === "profile")
        options.push({ value: "profile", text: `profile ${now.noise.path.split(/[\\/]/).pop()}`, disabled: false });
      kind.show(options, now.noise.kind);
      sigma.row.hidden = now.noise.kind !== "sigma";
      sigma.show(now.noise.kind === "sigma" ? now.noise.sigma : null);
    },
  };
}

function presets() {
  const list = el("select", { "aria-label": "Presets" });
  const name = el("input", { type: "text", placeholder: "Name", "aria-label": "Name of the preset", maxlength: 64 });
  /** @type {{name: string, settings: Settings}[]} */
  let all = [];
  const load = async () => {
    try {
      all = await get("/api/presets");
    } catch {
      all = [];
    }
    list.replaceChildren(
      el("option", { value: "" }, all.length ? "Take a preset" : "No presets yet"),
      ...all.map((preset) => el("option", { value: preset.name }, preset.name)),
    );
  };
  list.addEventListener("change", () => {
    const preset = all.find((other) => other.name === list.value);
    if (preset) edit({ ...standard(), ...preset.settings }, `preset ${preset.name}`);
    list.value = "";
  });
  const save = async () => {
    if (!name.value.trim() || !settings()) {
      name.focus();
      return;
    }
    try {
      await post("/api/presets", { name: name.value.trim(), settings: settings() });
      say(`Preset ${name.value.trim()} was saved`, `in ${state.folder}`);
      name.value = "";
      await load();
    } catch (error) {
      sayError(error);
    }
  };
  name.addEventListener("keydown", (event) => event.key === "Enter" && save());
  watch(["connection"], () => {
    if (state.connection === "there") load();
  });
  return section(
    "Presets",
    list,
    el("div", { class: "row two" }, name, el("button", { type: "button", onclick: save }, "Save")),
  );
}

function copies() {
  const shown = el("pre", { tabindex: "0", "aria-label": "Command line" });
  const copy = (/** @type {"command" | "python" | "toml"} */ what, /** @type {string} */ text) =>
    el(
      "button",
      {
        type: "button",
        "data-copy": what,
        onclick: async () => {
          const value = plan()?.[what];
          if (!value) return;
          shown.textContent = value;
          try {
            await navigator.clipboard.writeText(value);
            say(`Copied as ${text}`);
          } catch {
            getSelection()?.selectAllChildren(shown);
            say("The browser does not let the page copy", "the text is selected: press Ctrl+C");
          }
        },
      },
      text,
    );
  const made = section(
    "Copy as",
    el("div", { class: "buttons" }, copy("command", "Command line"), copy("python", "Python"), copy("toml", "TOML")),
    shown,
  );
  watch(["plans", "candidate", "current"], () => {
    const command = plan()?.command;
    if (command) shown.textContent = command;
    shown.hidden = !command;
  });
  return made;
}

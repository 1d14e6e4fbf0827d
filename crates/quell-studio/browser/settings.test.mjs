// Settings, undo, and export: what is seen is what the command line writes.

import assert from "node:assert/strict";
import { copyFileSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folder, open, run, sample, settled, writeLarge } from "./studio.mjs";

const state = (page, name) => page.evaluate((name) => globalThis.studio.state[name], name);
const now = (page) => page.evaluate(() => globalThis.studio.state.candidates.A);

/** Moves a slider as a hand does: values in between, an input event each. */
async function slide(page, label, values, pause = 10) {
  await page.getByLabel(label, { exact: true }).evaluate(
    async (range, { values, pause }) => {
      for (const value of values) {
        /** @type {HTMLInputElement} */ (range).value = String(value);
        range.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise((done) => setTimeout(done, pause));
      }
    },
    { values, pause },
  );
}

async function finished(page, count) {
  await page.waitForFunction(
    (count) => {
      const { queue } = globalThis.studio.state;
      return queue.length >= count && queue.every(({ state }) => !["waiting", "running"].includes(state));
    },
    count,
    { timeout: 120000 },
  );
}

test("an export is what the command line writes, byte for byte", async (t) => {
  const place = folder(t);
  const input = join(place, "noisy.png");
  copyFileSync(sample("noisy.png"), input);
  const { page, problems } = await open(t, [input], { folder: place });
  await page.getByLabel("Profile", { exact: true }).selectOption("fast");
  await page.getByLabel("Device", { exact: true }).selectOption("cpu");
  await slide(page, "Strength", [0.8]);
  await slide(page, "Grain", [0.1]);
  await page.locator(".drawer summary").click();
  await page.locator("#parameter-hard-step").fill("5");
  await page.locator("#parameter-hard-step").blur();
  await settled(page);
  assert.deepEqual((await now(page)).params, { "hard.step": "5" });
  const plan = await page.evaluate(() => Object.values(globalThis.studio.state.plans)[0]);
  assert.match(plan.command, /--strength 0\.8/);
  assert.match(plan.command, /hard-step|hard\.step/);

  await page.locator("#tab-export").click();
  await page.getByLabel("Name of the file").fill("page.png");
  await page.getByRole("button", { name: "Export this" }).click();
  await finished(page, 1);
  const [entry] = await state(page, "queue");
  assert.equal(entry.state, "done", entry.error);

  const line = join(place, "line.png");
  run(input, "-o", line, ...plan.flags);
  assert.ok(readFileSync(entry.output).equals(readFileSync(line)), "the files differ");

  // And what was on the screen: samples of the result are those of the file.
  const same = await page.evaluate(async () => {
    const { state } = globalThis.studio;
    const key = Object.values(state.plans)[0].key;
    const answer = await fetch(
      `/api/files/${state.current}/result?key=${encodeURIComponent(key)}&frame=0&level=0&x=0&y=0&w=456&h=304`,
    );
    return Array.from(new Uint8Array(await answer.arrayBuffer()));
  });
  const written = await open(t, [line], { folder: place });
  const stored = await written.page.evaluate(async () => {
    const answer = await fetch(
      `/api/files/${globalThis.studio.state.current}/source?frame=0&level=0&x=0&y=0&w=456&h=304`,
    );
    return Array.from(new Uint8Array(await answer.arrayBuffer()));
  });
  assert.equal(same.length, 456 * 304 * 3);
  assert.deepEqual(same, stored);

  await page.getByRole("button", { name: "Export this" }).click();
  await page.locator("#message.bad").waitFor();
  assert.equal((await state(page, "queue")).length, 1, "what exists is not replaced");
  assert.deepEqual(problems, []);
});

test("undo and redo bring settings and results back", async (t) => {
  const { page } = await open(t, [sample("noisy.png")]);
  await page.getByLabel("Profile", { exact: true }).selectOption("fast");
  await settled(page);
  const first = await page.evaluate(() => globalThis.studio.key());
  await slide(page, "Strength", [1.2, 1.4, 1.5]);
  await settled(page);
  const second = await page.evaluate(() => globalThis.studio.key());
  assert.notEqual(first, second);
  await page.locator("#picture").focus();
  await page.keyboard.press("Control+z");
  assert.equal((await now(page)).strength, null, "one drag is one step");
  await settled(page);
  assert.equal(await page.evaluate(() => globalThis.studio.key()), first, "equal settings, equal key");
  await page.keyboard.press("Control+z");
  assert.equal((await now(page)).profile, "normal");
  assert.equal(await page.locator("#undo").isDisabled(), true);
  await page.locator("#redo").click();
  await page.keyboard.press("Control+y");
  assert.equal((await now(page)).strength, 1.5);
});

test("of twenty fast moves only the last is computed to the end", async (t) => {
  const { page } = await open(t, [sample("noisy.png")]);
  await page.evaluate(() => {
    globalThis.posted = 0;
    const before = globalThis.fetch;
    globalThis.fetch = (path, options) => {
      if (String(path).startsWith("/api/settings")) globalThis.posted += 1;
      return before(path, options);
    };
  });
  const before = Object.keys(await state(page, "ready"));
  await slide(
    page,
    "Strength",
    Array.from({ length: 20 }, (_, index) => 0.5 + index * 0.05),
    15,
  );
  await settled(page);
  await page.waitForFunction(
    () => Object.keys(globalThis.studio.state.ready).some((name) => name.startsWith(`${globalThis.studio.key()}|`)),
    null,
    { timeout: 60000 },
  );
  await page.waitForTimeout(1000);
  const ready = Object.keys(await state(page, "ready")).filter((name) => !before.includes(name));
  const key = await page.evaluate(() => globalThis.studio.key());
  assert.equal((await now(page)).strength, 1.45);
  assert.deepEqual(
    ready.map((name) => name.split("|")[0]),
    [key],
    "only the last became complete",
  );
  const posted = await page.evaluate(() => globalThis.posted);
  assert.ok(posted < 10, `${posted} of 20 were sent`);
});

test("candidates have settings of their own", async (t) => {
  const { page } = await open(t, [sample("noisy.png")]);
  await page.locator("#picture").focus();
  await page.keyboard.press("b");
  await page.getByLabel("Profile", { exact: true }).selectOption("fast");
  await settled(page);
  const candidates = await state(page, "candidates");
  assert.equal(candidates.A.profile, "normal");
  assert.equal(candidates.B.profile, "fast");
  await page.locator("#against").selectOption("A");
  await settled(page);
  await page.waitForFunction(() => document.querySelector("#labels").innerText.replace(/\s+/g, " ") === "A B");
});

test("settings that make no sense are named where they are made", async (t) => {
  const { page } = await open(t, [sample("noisy.png")]);
  await page.locator(".drawer summary").click();
  await page.locator("#parameter-hard-step").fill("4000");
  await page.locator("#parameter-hard-step").blur();
  await page.locator("#panel-settings .problem:not([hidden])").waitFor();
  assert.match(await page.locator("#panel-settings .problem").innerText(), /step/);
  await page.getByRole("button", { name: "Reset hard.step" }).click();
  await page.locator("#panel-settings .problem").waitFor({ state: "hidden" });
});

test("every parameter has help, a default and a field of its kind", async (t) => {
  const { page } = await open(t, [sample("noisy.png")]);
  await page.locator(".drawer summary").click();
  for (const method of (await state(page, "methods")).map(({ name }) => name)) {
    await page.getByLabel("Method", { exact: true }).selectOption(method);
    await page.waitForFunction((method) => {
      const { parameters } = globalThis.studio.state.methods.find(({ name }) => name === method);
      return parameters.every(({ flag, help }) =>
        document.getElementById(`parameter-${flag}-help`)?.textContent.startsWith(help),
      );
    }, method);
  }
});

test("settings are copied for other places", async (t) => {
  const { page, context } = await open(t, [sample("noisy.png")]);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await slide(page, "Strength", [0.8]);
  await settled(page);
  for (const [name, wanted] of [
    ["Command line", /^quell .*--strength 0\.8/],
    ["Python", /quell/],
    ["TOML", /method bm3d/],
  ]) {
    await page.getByRole("button", { name, exact: true }).click();
    await page.locator("#message").getByText(`Copied as ${name}`).waitFor();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), wanted);
  }
});

test("a queue goes on behind a broken file and names it", async (t) => {
  const place = folder(t);
  const files = ["one.png", "broken.png", "two.png"].map((name) => join(place, name));
  copyFileSync(sample("noisy.png"), files[0]);
  writeFileSync(files[1], readFileSync(sample("noisy.png")).subarray(0, 5000));
  copyFileSync(sample("harbour.png"), files[2]);
  const { page } = await open(t, files, { folder: place });
  await page.getByLabel("Profile", { exact: true }).selectOption("fast");
  await settled(page);
  await page.locator("#tab-export").click();
  await page.getByRole("button", { name: "Export all 3" }).click();
  await finished(page, 3);
  const queue = await state(page, "queue");
  assert.deepEqual(
    queue.map((entry) => entry.state),
    ["done", "failed", "done"],
  );
  assert.match(queue[1].error, /PNG/);
  assert.match(await page.locator(".queue .failed").innerText(), /broken\.png/);
  assert.equal(readdirSync(place).filter((name) => name.includes("broken")).length, 1, "no half file is left");
});

test("an export is cancelled and leaves nothing", async (t) => {
  const place = folder(t);
  const input = join(place, "large.ppm");
  writeLarge(input, 1400, 1000);
  const { page } = await open(t, [input], { folder: place });
  await page.getByLabel("Method", { exact: true }).selectOption("ridge");
  await page.locator("#tab-export").click();
  await page.getByRole("button", { name: "Export this" }).click();
  await page.getByRole("button", { name: "Cancel large.ppm" }).click();
  await finished(page, 1);
  assert.equal((await state(page, "queue"))[0].state, "cancelled");
  assert.deepEqual(readdirSync(place), ["large.ppm"]);
});

test("presets are kept and taken", async (t) => {
  const { page } = await open(t, [sample("noisy.png")]);
  await page.getByLabel("Profile", { exact: true }).selectOption("fast");
  await slide(page, "Chroma", [1.5]);
  await page.getByLabel("Name of the preset").fill("night");
  await page.getByLabel("Name of the preset").press("Enter");
  await page.locator("#message").getByText("night").waitFor();
  await page.getByLabel("Profile", { exact: true }).selectOption("normal");
  await slide(page, "Chroma", [1]);
  await page.getByLabel("Presets", { exact: true }).selectOption("night");
  await settled(page);
  const taken = await now(page);
  assert.equal(taken.profile, "fast");
  assert.equal(taken.chroma, 1.5);
});

// Opening, zoom, the divider, flicker, layout: what is on the screen is what the file holds.

import assert from "node:assert/strict";
import { test } from "node:test";
import { join } from "node:path";
import { folder, open, pixels, run, sample, settled, writeClip, writeLarge, writeRamp } from "./studio.mjs";

const zoom = (page) => page.evaluate(() => globalThis.studio.camera.zoom);

test("a picture opens and its result is computed", async (t) => {
  const { page, problems } = await open(t, [sample("noisy.png"), sample("harbour.png")]);
  assert.equal(await page.title(), "noisy.png · quell studio");
  assert.equal(await page.locator("#files li").count(), 2);
  assert.match(await page.locator("#what").innerText(), /456 x 304, RGB, 8 bits/);
  assert.equal(new URL(page.url()).hash, "", "the token is not left in the address");
  await page.locator("#files li").nth(1).locator(".thumb").click();
  await settled(page);
  assert.equal(await page.title(), "harbour.png · quell studio");
  assert.deepEqual(problems, []);
});

test("at 1:1 a pixel of the screen is a sample, above it is a square", async (t) => {
  const { page } = await open(t, [sample("noisy.png")]);
  await page.keyboard.press("z");
  await page.keyboard.press("5");
  await page.keyboard.press("1");
  await page.evaluate(() => globalThis.studio.set({ divider: 0.98 }));
  await settled(page);
  assert.equal(await zoom(page), 1);
  const shown = async (scale, what = "source?") => {
    const place = await page.evaluate(() => globalThis.studio.corner());
    const bounds = await page.locator("#picture").boundingBox();
    const [px, py] = [200, 100];
    const clip = { x: bounds.x + place[0] + px * scale, y: bounds.y + place[1] + py * scale, width: 32, height: 32 };
    const screen = await pixels(page, clip);
    const source = await page.evaluate(
      async ([x, y, what]) => {
        const answer = await fetch(
          `/api/files/${globalThis.studio.state.current}/${what}&frame=0&level=0&x=${x}&y=${y}&w=32&h=32`,
        );
        return Array.from(new Uint8Array(await answer.arrayBuffer()));
      },
      [px, py, what],
    );
    for (let y = 0; y < 32; y += 1) {
      for (let x = 0; x < 32; x += 1) {
        const at = Math.floor(y / scale) * 32 + Math.floor(x / scale);
        assert.deepEqual(
          screen.data.slice((y * 32 + x) * 4, (y * 32 + x) * 4 + 3),
          source.slice(at * 3, at * 3 + 3),
          `pixel ${x}, ${y} at ${scale}:1`,
        );
      }
    }
  };
  await shown(1);
  // On the other side of the divider it is the result, to the bit.
  await page.evaluate(() => globalThis.studio.set({ divider: 0.02 }));
  await settled(page);
  await shown(1, `result?key=${encodeURIComponent(await page.evaluate(() => globalThis.studio.key()))}`);
  await page.evaluate(() => globalThis.studio.set({ divider: 0.98 }));
  for (const expected of [2, 3, 4]) {
    await page.keyboard.press("+");
    await settled(page);
    assert.equal(await zoom(page), expected, "zoom goes in whole steps");
  }
  await shown(4);
  await page.locator("#picture").hover();
  await page.mouse.wheel(0, 100);
  assert.equal(await zoom(page), 3, "a notch of the wheel is one step");
  await page.keyboard.press("f");
  assert.equal(await zoom(page), 1, "a small picture is not blown up by parts of pixels");
});

test("on a screen of twice the density 1:1 are the screen's own pixels", async (t) => {
  const { page } = await open(t, [sample("noisy.png")], { context: { deviceScaleFactor: 2 } });
  await page.keyboard.press("z");
  const size = await page.evaluate(() => {
    const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById("picture"));
    const box = canvas.getBoundingClientRect();
    return [
      canvas.width - Math.round(2 * box.width),
      canvas.height - Math.round(2 * box.height),
      globalThis.studio.camera.zoom,
    ];
  });
  assert.deepEqual(size, [0, 0, 1]);
});

test("the divider is dragged, goes to the middle, follows keys and is never lost", async (t) => {
  const { page } = await open(t, [sample("noisy.png")]);
  const divider = page.locator("#divider");
  const value = () => page.evaluate(() => globalThis.studio.state.divider);
  const stage = await page.locator("#stage").boundingBox();
  const drag = async (x) => {
    const at = await divider.boundingBox();
    await page.mouse.move(at.x + at.width / 2, at.y + 200);
    await page.mouse.down();
    await page.mouse.move(stage.x + x * stage.width, at.y + 220, { steps: 4 });
    await page.mouse.up();
  };
  await drag(0.25);
  assert.ok(Math.abs((await value()) - 0.25) < 0.01, `dragged to ${await value()}`);
  for (const far of [-2, 3]) {
    await drag(far);
    const at = await divider.boundingBox();
    const middle = at.x + at.width / 2;
    assert.ok(middle > stage.x && middle < stage.x + stage.width, "it stays on the stage");
  }
  await divider.dblclick({ position: { x: 12, y: 150 } });
  assert.equal(await value(), 0.5);
  await divider.focus();
  await page.keyboard.press("ArrowLeft");
  assert.ok(Math.abs((await value()) - 0.49) < 1e-9);
  await page.keyboard.press("Shift+ArrowRight");
  assert.ok(Math.abs((await value()) - 0.59) < 1e-9);
  await page.keyboard.press("Home");
  assert.equal(await divider.getAttribute("aria-valuenow"), "2");
  assert.equal(await divider.getAttribute("role"), "slider");
  await page.locator("#picture").focus();
  await page.keyboard.press("\\");
  assert.equal(await value(), 0.5);
  // Far away and very close: it stands where it stood.
  for (let n = 0; n < 9; n += 1) await page.keyboard.press("+");
  for (let n = 0; n < 20; n += 1) await page.keyboard.press("ArrowRight");
  const at = await divider.boundingBox();
  assert.ok(Math.abs(at.x + at.width / 2 - (stage.x + stage.width / 2)) < 2);
});

test("space changes the pictures: tapped it stays, held it goes back", async (t) => {
  const { page } = await open(t, [sample("noisy.png")]);
  await page.getByRole("radio", { name: "Flicker" }).click();
  const flipped = () => page.evaluate(() => globalThis.studio.state.flipped);
  await page.waitForFunction(() => document.getElementById("labels").innerText === "A");
  await page.keyboard.press(" ");
  await page.waitForFunction(() => document.getElementById("labels").innerText === "Original");
  assert.equal(await flipped(), true);
  await page.keyboard.press(" ");
  assert.equal(await flipped(), false);
  await page.keyboard.down(" ");
  await page.waitForTimeout(400);
  assert.equal(await flipped(), true);
  await page.keyboard.up(" ");
  assert.equal(await flipped(), false);
});

test("nothing changes by itself where less motion is asked for", async (t) => {
  const { page } = await open(t, [sample("noisy.png")], { context: { reducedMotion: "reduce" } });
  await page.locator("#picture").focus();
  await page.keyboard.press("3");
  assert.equal(await page.getByRole("button", { name: "By itself" }).count(), 0);
  await page.emulateMedia({ reducedMotion: "no-preference" });
  await page.getByRole("button", { name: "By itself" }).click();
  await page.waitForFunction(() => globalThis.studio.state.flipped, null, { timeout: 3000 });
});

test("every mode shows its panes", async (t) => {
  const { page, problems } = await open(t, [sample("noisy.png"), sample("harbour.png")]);
  await page.locator("#picture").focus();
  const labels = () => page.locator("#labels .label").allInnerTexts();
  const go = async (key) => {
    await page.keyboard.press(key);
    await settled(page);
    await page.waitForTimeout(100);
    return labels();
  };
  assert.deepEqual(await go("1"), ["Original", "A"]);
  assert.deepEqual(await go("2"), ["Original", "A"]);
  assert.deepEqual(await go("4"), ["Original and A, difference × 4"]);
  assert.deepEqual(await go("5"), ["Removed by A, × 4"]);
  await page.keyboard.press("b");
  assert.deepEqual(
    (await go("6")).map((label) => label.replace(/\s+/g, " ")),
    ["A bm3d normal", "B bm3d normal"],
  );
  await page.keyboard.press("7");
  assert.equal(await page.locator("#choose-clean").isVisible(), true);
  await page.locator("#against").selectOption({ label: "harbour.png" });
  await page.locator("#labels").getByText("Error of B, × 4").waitFor();
  await settled(page);
  assert.deepEqual(problems, []);
});

test("16 bits and float are shown as they are", async (t) => {
  const place = folder(t);
  const ramp = join(place, "ramp.pgm");
  const float = join(place, "float.tif");
  writeRamp(ramp, 200, 120);
  run("degrade", sample("harbour.png"), "--sigma", "20", "--float", "-o", float);
  const { page } = await open(t, [ramp, float], { folder: place });
  await page.keyboard.press("z");
  await page.evaluate(() => globalThis.studio.set({ probe: [17, 3] }));
  await settled(page);
  await page.waitForFunction(
    (text) => document.getElementById("probe").textContent.includes(text),
    `${(3 * 200 + 17) * 7 + 12345}`,
  );
  await page.keyboard.press("PageDown");
  await settled(page);
  assert.match(await page.locator("#what").innerText(), /float/);
  await page.evaluate(() => globalThis.studio.set({ probe: [5, 5] }));
  await page.waitForFunction(() => /\d\.\d/.test(document.getElementById("probe").textContent));
});

test("samples are told below 1:1 too", async (t) => {
  const place = folder(t);
  const input = join(place, "large.ppm");
  writeLarge(input, 1500, 1000);
  const { page } = await open(t, [input], { folder: place });
  await page.locator("#picture").hover({ position: { x: 300, y: 300 } });
  await page.waitForFunction(
    () => /: +\d+ \d+ \d+ +→ +\d+ \d+ \d+/.test(document.getElementById("probe").textContent),
    null,
    { timeout: 60000 },
  );
});

test("the picture comes back when the browser takes WebGL away", async (t) => {
  const { page, problems } = await open(t, [sample("noisy.png")]);
  const box = await page.locator("#picture").boundingBox();
  const clip = { x: box.x + 300, y: box.y + 200, width: 64, height: 64 };
  const before = await pixels(page, clip);
  await page.evaluate(async () => {
    const gl = /** @type {HTMLCanvasElement} */ (document.getElementById("picture")).getContext("webgl2");
    const extension = gl.getExtension("WEBGL_lose_context");
    extension.loseContext();
    await new Promise((done) => setTimeout(done, 200));
    globalThis.studio.pan(5, 0);
    globalThis.studio.pan(-5, 0);
    await new Promise((done) => setTimeout(done, 200));
    extension.restoreContext();
    await new Promise((done) => setTimeout(done, 500));
  });
  assert.deepEqual((await pixels(page, clip)).data, before.data);
  assert.deepEqual(problems, []);
});

test("a clip is gone through frame by frame", async (t) => {
  const place = folder(t);
  const clip = join(place, "clip.y4m");
  writeClip(clip, 96, 64, 5);
  const { page, problems } = await open(t, [clip], { folder: place });
  assert.match(await page.locator("#scrub output").innerText(), /frame 1 of 5/);
  await page.locator("#picture").focus();
  await page.keyboard.press(".");
  await settled(page);
  assert.match(await page.locator("#scrub output").innerText(), /frame 2 of 5/);
  await page.getByLabel("Frame", { exact: true }).fill("4");
  await settled(page);
  assert.equal(await page.evaluate(() => globalThis.studio.state.frame), 4);
  assert.deepEqual(problems, []);
});

for (const [width, height] of [
  [1280, 720],
  [3840, 2160],
]) {
  test(`nothing is cut off at ${width} x ${height}`, async (t) => {
    const { page } = await open(t, [sample("noisy.png")], { context: { viewport: { width, height } } });
    for (const panel of ["settings", "noise", "inspect", "export"]) {
      await page.locator(`#tab-${panel}`).click();
      await page.waitForTimeout(200);
      const outside = await page.evaluate(() => {
        const bad = [];
        if (document.documentElement.scrollWidth > innerWidth || document.documentElement.scrollHeight > innerHeight)
          bad.push("the page scrolls");
        for (const element of document.querySelectorAll(
          "#toolbar *, #viewbar *, #tabs *, #status, .panel:not([hidden]) :is(input, select, button, pre, svg, canvas)",
        )) {
          const box = element.getBoundingClientRect();
          if (box.width && (box.right > innerWidth + 0.5 || box.left < -0.5)) bad.push(element.outerHTML.slice(0, 80));
        }
        const bar = document.getElementById("toolbar");
        if (bar.scrollWidth > bar.clientWidth) bad.push("the toolbar is too long");
        return bad;
      });
      assert.deepEqual(outside, []);
    }
    const stage = await page.locator("#stage").boundingBox();
    assert.ok(stage.width * stage.height > 0.5 * width * height, "most of the window is the picture's");
  });
}

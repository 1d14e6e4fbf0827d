// How smooth it is while the server computes. The bar is 50 pans a second where a GPU draws. Where the processor draws,
// and computes at the same time, that is beyond the page: there its own part is held to a bar, and the rest is printed.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { folder, open, settled, writeLarge } from "./studio.mjs";

test("the picture is panned smoothly while results are computed", async (t) => {
  const place = folder(t);
  const input = join(place, "large.ppm");
  writeLarge(input, 1800, 1200);
  const { page } = await open(t, [input], { folder: place });
  await page.keyboard.press("z");
  await settled(page);
  await page.getByLabel("Profile", { exact: true }).selectOption("high");
  await page.waitForFunction(() => globalThis.studio.state.computing);
  const measured = await page.evaluate(async () => {
    const { studio } = globalThis;
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    await frame();
    // What the page itself does for a frame: everything that runs when the screen asks for one.
    let own = 0;
    const ask = globalThis.requestAnimationFrame;
    globalThis.requestAnimationFrame = (work) =>
      ask((now) => {
        const from = performance.now();
        work(now);
        own += performance.now() - from;
      });
    const info = document.createElement("canvas").getContext("webgl2");
    const renderer = info.getParameter(
      info.getExtension("WEBGL_debug_renderer_info")?.UNMASKED_RENDERER_WEBGL ?? info.RENDERER,
    );
    const begin = performance.now();
    const drawn = studio.drawings;
    let computing = 0;
    let frames = 0;
    while (performance.now() - begin < 2000) {
      studio.pan(frames % 40 < 20 ? -6 : 6, 3 * Math.sin(frames / 9));
      await frame();
      frames += 1;
      computing += Number(studio.state.computing);
    }
    const seconds = (performance.now() - begin) / 1000;
    return { pans: (studio.drawings - drawn) / seconds, computing: computing / frames, own: own / frames, renderer };
  });
  t.diagnostic(
    `${measured.pans.toFixed(1)} pans a second, ${measured.own.toFixed(2)} ms of each in the page, computing in ${(100 * measured.computing).toFixed(0)} % of them, drawn by ${measured.renderer}`,
  );
  assert.ok(measured.computing > 0.5, "it was computing meanwhile");
  assert.ok(measured.own < 5, `${measured.own} ms of a frame`);
  if (!/swiftshader|llvmpipe/i.test(measured.renderer))
    assert.ok(measured.pans >= 50, `${measured.pans} pans a second`);
});

test("a moved slider shows new pixels", async (t) => {
  const place = folder(t);
  const input = join(place, "large.ppm");
  writeLarge(input, 1800, 1200);
  const { page } = await open(t, [input], { folder: place, context: { viewport: { width: 1640, height: 930 } } });
  await page.getByLabel("Profile", { exact: true }).selectOption("fast");
  await page.keyboard.press("z");
  await page.keyboard.press("3");
  await settled(page);
  const times = [];
  for (const value of [0.8, 0.9, 1.1]) {
    times.push(
      await page.getByLabel("Strength", { exact: true }).evaluate(async (range, value) => {
        const from = performance.now();
        range.value = String(value);
        range.dispatchEvent(new Event("input", { bubbles: true }));
        do await new Promise((done) => requestAnimationFrame(done));
        while (!globalThis.studio.settled());
        return performance.now() - from;
      }, value),
    );
  }
  const { width, height } = await page.locator("#stage").boundingBox();
  t.diagnostic(
    `from the slider to ${Math.round(width)} x ${Math.round(height)} new pixels of bm3d fast: ${times.map((time) => Math.round(time)).join(", ")} ms`,
  );
  assert.ok(Math.min(...times) < 10000);
});

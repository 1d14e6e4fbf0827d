// How smooth it is while the server computes. The numbers are printed; the bar is 50 pans a second.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { folder, open, settled, writeLarge } from "./studio.mjs";

test("the picture is panned smoothly while results are computed", async (t) => {
  const place = folder(t);
  const input = join(place, "large.ppm");
  writeLarge(input, 3000, 2000);
  const { page } = await open(t, [input], { folder: place });
  await page.keyboard.press("z");
  await settled(page);
  await page.getByLabel("Profile", { exact: true }).selectOption("high");
  await page.waitForFunction(() => globalThis.studio.state.computing);
  const measured = await page.evaluate(async () => {
    const { studio } = globalThis;
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    await frame();
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
    return { pans: (studio.drawings - drawn) / seconds, computing: computing / frames };
  });
  t.diagnostic(`${measured.pans.toFixed(1)} pans a second, computing in ${(100 * measured.computing).toFixed(0)} % of them, WebGL2 by the processor`);
  assert.ok(measured.computing > 0.5, "it was computing meanwhile");
  assert.ok(measured.pans >= 50, `${measured.pans} pans a second`);
});

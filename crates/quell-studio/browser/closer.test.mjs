// Noise in a region, groups and isolines, against a clean picture.

import assert from "node:assert/strict";
import { test } from "node:test";
import { open, sample, settled } from "./studio.mjs";

/** Draws a rectangle over pixels of the picture. */
async function rectangle(page, x0, y0, x1, y1) {
  const bounds = await page.locator("#picture").boundingBox();
  const [cx, cy, zoom] = await page.evaluate(() => [...globalThis.studio.corner(), globalThis.studio.camera.zoom]);
  await page.mouse.move(bounds.x + cx + (x0 + 0.5) * zoom, bounds.y + cy + (y0 + 0.5) * zoom);
  await page.mouse.down();
  await page.mouse.move(bounds.x + cx + (x1 - 0.5) * zoom, bounds.y + cy + (y1 - 0.5) * zoom, { steps: 3 });
  await page.mouse.up();
}

test("noise is measured in a rectangle and used", async (t) => {
  const { page, problems } = await open(t, [sample("noisy.png")]);
  await page.locator("#picture").focus();
  await page.keyboard.press("n");
  await rectangle(page, 110, 40, 174, 80);
  assert.deepEqual(await page.evaluate(() => globalThis.studio.state.region), [110, 40, 64, 40]);
  const finding = page.locator("#panel-noise .finding");
  await page.locator("#panel-noise").getByText("64 x 40 pixels at 110, 40").waitFor();
  await page.locator("#panel-noise .plot").first().waitFor();
  assert.ok((await finding.innerText()).length > 3);
  const sigma = await page.locator("#panel-noise .plot").first().getAttribute("aria-label");
  const values = sigma.match(/\d+\.\d+/g).map(Number);
  assert.equal(values.length, 3);
  for (const value of values) assert.ok(value > 18 && value < 32, `${sigma}; the sample has 25`);
  await page.getByRole("button", { name: "Use it" }).click();
  await settled(page);
  const command = await page.evaluate(() => globalThis.studio.plan().command);
  assert.match(command, /--noise-from 110,40,64,40/);
  assert.deepEqual(problems, []);
});

test("a rectangle is drawn by the keyboard too", async (t) => {
  const { page } = await open(t, [sample("noisy.png")]);
  await page.locator("#picture").focus();
  await page.evaluate(() => globalThis.studio.set({ probe: [20, 20] }));
  await page.keyboard.press("n");
  await page.keyboard.press("Enter");
  for (let n = 0; n < 2; n += 1) await page.keyboard.press("Shift+ArrowRight");
  for (let n = 0; n < 2; n += 1) await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.deepEqual(await page.evaluate(() => globalThis.studio.state.region), [20, 20, 33, 34]);
});

test("a noise profile is saved and used", async (t) => {
  const { page } = await open(t, [sample("noisy.png")]);
  await page.locator("#tab-noise").click();
  await page.locator("#panel-noise .finding").waitFor();
  await page.getByLabel("Name of the profile").fill("harbour 800");
  await page.getByLabel("Name of the profile").press("Enter");
  await page.waitForFunction(() => globalThis.studio.state.candidates.A.noise.kind === "profile");
  await settled(page);
  assert.match(await page.evaluate(() => globalThis.studio.plan().command), /--noise-profile/);
});

test("the group of patches at a pixel is shown", async (t) => {
  const { page, problems } = await open(t, [sample("noisy.png")]);
  await page.locator("#picture").focus();
  await page.keyboard.press("g");
  const bounds = await page.locator("#picture").boundingBox();
  const [cx, cy] = await page.evaluate(() => globalThis.studio.corner());
  await page.mouse.click(bounds.x + cx + 30.5, bounds.y + cy + 40.5);
  const finding = page.locator("#panel-inspect .finding");
  await finding.waitFor();
  assert.match(await finding.innerText(), /\d+ patches of 8 x 8/);
  assert.ok((await page.locator(".stack .raster").count()) >= 16, "stack before and after");
  // Positions are drawn on the picture.
  await page.waitForFunction(() => {
    const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById("overlay"));
    return (
      !canvas.hidden &&
      canvas
        .getContext("2d")
        .getImageData(0, 0, canvas.width, canvas.height)
        .data.some((value) => value > 0)
    );
  });
  await page.getByLabel("Pass", { exact: true }).selectOption("2");
  await page.waitForFunction(() =>
    /32 patches/.test(document.querySelector("#panel-inspect .finding")?.textContent ?? ""),
  );
  assert.deepEqual(problems, []);
});

test("the isoline at a pixel is shown", async (t) => {
  const { page, problems } = await open(t, [sample("noisy.png")]);
  await page.getByLabel("Method", { exact: true }).selectOption("isoline");
  await settled(page);
  await page.locator("#picture").focus();
  await page.evaluate(() => globalThis.studio.set({ probe: [120, 150] }));
  await page.keyboard.press("g");
  await page.keyboard.press("Enter");
  await page
    .locator("#panel-inspect .finding")
    .getByText(/direction \d+ of \d+/)
    .waitFor();
  assert.deepEqual(problems, []);
});

test("PSNR and SSIM stand against a clean picture, in a rectangle too", async (t) => {
  const { page } = await open(t, [sample("noisy.png"), sample("harbour.png")]);
  await page.locator("#tab-inspect").click();
  await page.getByLabel("The picture without noise").selectOption({ label: "harbour.png" });
  const table = page.locator("#panel-inspect table");
  await table.waitFor();
  const psnr = async (row) => (await table.locator("tr").nth(row).locator("td").allInnerTexts()).map(parseFloat);
  const [before, after] = await psnr(1);
  assert.ok(before > 19 && before < 22, `before ${before}`);
  assert.ok(after > before + 7, `after ${after}`);
  await page.evaluate(() => globalThis.studio.set({ region: [10, 10, 64, 64] }));
  await table.getByText("PSNR, rectangle").waitFor();
  assert.equal(await table.locator("tbody tr").count(), 4);
});

test("the histogram stands before and after", async (t) => {
  const { page } = await open(t, [sample("noisy.png")]);
  await page.locator("#tab-inspect").click();
  await page.getByRole("img", { name: "Histogram before" }).waitFor();
  await page.getByRole("img", { name: "Histogram after" }).waitFor();
  await page.getByRole("img", { name: "Spectrum of what was removed" }).waitFor();
});

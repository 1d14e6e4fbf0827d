// Pictures of every mode, made with what the repository ships. All go to the folder of the packages, to be looked at;
// some stand in the documents.

import { copyFileSync, mkdirSync, mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch, root, run, sample, serve, settled, visit } from "./studio.mjs";

const PUBLISHED = new Set(["split", "candidates", "noise", "groups", "removed", "error"]);
const all = join(process.env.STUDIO_PACKAGES ?? ".", "../pictures");
mkdirSync(all, { recursive: true });
const place = mkdtempSync(join(tmpdir(), "quell-studio-"));
const camera = join(place, "harbour-iso3200.png");
run("degrade", sample("harbour.png"), "--sigma", "7", "--noise-kernel", "soft", "--seed", "3", "-o", camera);
// By their names alone: where this was made is nobody's business.
for (const name of ["noisy.png", "harbour.png"]) copyFileSync(sample(name), join(place, name));
const server = await serve(["noisy.png", "harbour.png", "harbour-iso3200.png"], place);

const set = (page, values) => page.evaluate((values) => globalThis.studio.set(values), values);
const look = (page, x, y, zoom) => page.evaluate(([x, y, zoom]) => globalThis.studio.look(x, y, zoom), [x, y, zoom]);
const change = (page, change) => page.evaluate((change) => globalThis.studio.edit(change), change);

async function take(page, name) {
  await settled(page);
  await page.waitForTimeout(1500);
  await settled(page);
  await page.evaluate(() => (document.getElementById("message").hidden = true));
  await page.screenshot({ path: join(all, `${name}.png`) });
  if (!PUBLISHED.has(name)) return;
  const path = join(root, "docs/images", `studio-${name}.jpg`);
  let quality = 90;
  do {
    await page.screenshot({ path, type: "jpeg", quality });
    quality -= 4;
  } while (statSync(path).size > 150e3);
  console.log(`${path}: ${Math.round(statSync(path).size / 1000)} KB`);
}

const { page } = await visit(server.url, { viewport: { width: 1280, height: 800 } });
await settled(page);
await look(page, 225, 160, 3);
await set(page, { divider: 0.46 });
await take(page, "split");
await set(page, { mode: "side" });
await look(page, 240, 150, 2);
await take(page, "side");
await set(page, { mode: "difference", gain: 4 });
await take(page, "difference");
await set(page, { mode: "removed", panel: "inspect", gain: 2 });
await page
  .locator("#panel-inspect h3")
  .nth(1)
  .evaluate((title) => title.scrollIntoView());
await take(page, "removed");
await set(page, { mode: "error", clean: "2", gain: 8 });
await page.waitForTimeout(1000);
await page
  .locator("#panel-inspect h3")
  .nth(2)
  .evaluate((title) => title.scrollIntoView());
await set(page, { region: [296, 96, 96, 64] });
await take(page, "error");

await set(page, { mode: "split", region: null, tool: "group", picked: [330, 180], divider: 0.97 });
await look(page, 336, 168, 6);
await take(page, "groups");
await set(page, { pass: 2 });
await take(page, "groups-pass-2");
await change(page, { method: "isoline", profile: "normal" });
await set(page, { picked: [160, 125] });
await look(page, 165, 130, 8);
await take(page, "isolines");
await set(page, { tool: "move", picked: null, panel: "settings", divider: 0.5 });

await change(page, { method: "bm3d", profile: "normal" });
for (const [letter, method] of [
  ["b", "ridge"],
  ["c", "nlm"],
  ["d", "isoline"],
]) {
  await page.locator("#picture").focus();
  await page.keyboard.press(letter);
  await change(page, { method, profile: "normal" });
}
await page.keyboard.press("a");
await set(page, { mode: "candidates" });
await look(page, 330, 130, 3);
await take(page, "candidates");

await page.locator("[data-file='3'] .thumb").click();
await set(page, { mode: "split", panel: "noise", region: [110, 40, 64, 40] });
await look(page, 160, 110, 3);
await take(page, "noise-rectangle");
await set(page, { region: null });
await take(page, "noise");
await set(page, { panel: "export", region: null });
await page.getByRole("button", { name: "Export all 3" }).click();
await take(page, "export");
await set(page, { panel: "settings" });
await page.locator(".drawer summary").click();
await page.locator(".drawer").evaluate((drawer) => drawer.scrollIntoView());
await take(page, "parameters");
await page.keyboard.press("?");
await take(page, "keyboard");
await page.keyboard.press("Escape");
await page.locator(".drawer summary").click();
await page.emulateMedia({ colorScheme: "light" });
await set(page, { mode: "side" });
await take(page, "light");
await page.setViewportSize({ width: 3840, height: 2160 });
await set(page, { mode: "split", panel: "inspect" });
await take(page, "4k");
await server.stop();
await (await launch()).close();

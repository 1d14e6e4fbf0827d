// The server is gone, and there again; files that are dropped; how large the page is.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folder, open, root, sample, serve, settled, visit } from "./studio.mjs";

test("a server that was killed is missed, and another one goes on with the settings", async (t) => {
  const place = folder(t);
  const { server, page } = await open(t, [sample("noisy.png")], { folder: place });
  await page.getByLabel("Profile", { exact: true }).selectOption("fast");
  await settled(page);
  await server.stop("SIGKILL");
  const box = page.locator("#lost");
  await box.waitFor({ timeout: 10000 });
  assert.match(await box.innerText(), /does not answer/);
  assert.equal(await page.locator("#divider").isVisible(), true, "what was there is still shown");

  const field = page.getByLabel("Address that quell studio prints");
  const add = page.getByRole("button", { name: "Add settings and copy" });
  await field.fill("http://example.org/#abc");
  await add.click();
  assert.match(await page.locator("#message").innerText(), /not an address/);

  const next = await serve([sample("noisy.png")], place);
  t.after(() => next.stop());
  await field.fill(next.url);
  await add.click();
  await page.goto(await field.inputValue());
  await settled(page);
  assert.equal(await page.locator("#lost").isVisible(), false);
  assert.equal(await page.evaluate(() => globalThis.studio.state.candidates.A.profile), "fast");
  assert.equal(new URL(page.url()).hash, "");
});

test("a connection that breaks is taken up again by itself", async (t) => {
  const { page, context } = await open(t, [sample("noisy.png")]);
  await context.setOffline(true);
  await page.getByLabel("Profile", { exact: true }).selectOption("fast");
  await page.locator("#lost").waitFor({ timeout: 10000 });
  await context.setOffline(false);
  await page.locator("#lost").waitFor({ state: "hidden", timeout: 15000 });
  await settled(page);
  assert.equal(await page.evaluate(() => JSON.parse(globalThis.studio.plan().settings).profile), "fast");
});

test("two studios live side by side in one browser", async (t) => {
  const { page, context } = await open(t, [sample("noisy.png")]);
  const other = await serve([sample("harbour.png")], folder(t));
  t.after(() => other.stop());
  const second = await context.newPage();
  await second.goto(other.url);
  await settled(second);
  await page.getByLabel("Profile", { exact: true }).selectOption("fast");
  await settled(page);
  assert.equal(await page.locator("#lost").isVisible(), false);
  await page.reload();
  await settled(page);
  assert.equal(await page.evaluate(() => globalThis.studio.state.candidates.A.profile), "fast", "settings survive");
});

test("a page without the token is told what to do", async (t) => {
  const server = await serve([sample("noisy.png")], folder(t));
  t.after(() => server.stop());
  const { page } = await visit(server.url.split("#")[0]);
  await page.locator("#lost").waitFor();
  assert.match(await page.locator("#lost").innerText(), /does not know this window/);
});

test("a file is dropped and pasted", async (t) => {
  const { page } = await open(t, [sample("noisy.png")]);
  const bytes = readFileSync(sample("harbour.png")).toString("base64");
  for (const kind of ["drop", "paste"]) {
    await page.evaluate(
      ({ bytes, kind }) => {
        const data = new DataTransfer();
        data.items.add(
          new File([Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0))], `${kind}.png`, {
            type: "image/png",
          }),
        );
        const event =
          kind === "drop"
            ? new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })
            : new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
        document.body.dispatchEvent(event);
      },
      { bytes, kind },
    );
    await page.waitForFunction((kind) => document.title.startsWith(`${kind}.png`), kind);
    await settled(page);
  }
  assert.equal(await page.locator("#files li").count(), 3);
  await page.getByRole("button", { name: "Close paste.png" }).click();
  await page.waitForFunction(() => document.querySelectorAll("#files li").length === 2);
  await settled(page);
});

test("the page is at most 300 KB", () => {
  const size = (path) =>
    readdirSync(path, { withFileTypes: true }).reduce(
      (sum, entry) =>
        sum + (entry.isDirectory() ? size(join(path, entry.name)) : statSync(join(path, entry.name)).size),
      0,
    );
  const bytes = size(join(root, "crates/quell-studio/ui"));
  assert.ok(bytes <= 300e3, `${bytes} bytes`);
});

// For everyone: screen readers, keyboard, both themes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { open, packages, sample, settled } from "./studio.mjs";

const axe = readFileSync(packages.resolve("axe-core/axe.min.js"), "utf8");

for (const colorScheme of ["dark", "light"]) {
  test(`axe-core finds nothing serious, ${colorScheme}`, async (t) => {
    // The tests' own script may run although the page's policy allows none but its own.
    const { page } = await open(t, [sample("noisy.png"), sample("harbour.png")], {
      context: { colorScheme, bypassCSP: true },
    });
    await page.evaluate(axe);
    const check = async (where) => {
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
      const serious = violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(
          ({ id, nodes }) =>
            `${where}: ${id}: ${nodes.map((node) => `${node.target} ${node.any[0]?.message ?? ""}`).join("; ")}`,
        );
      assert.deepEqual(serious, []);
    };
    await page.locator(".drawer summary").click();
    await page.locator("#parameter-hard-step").waitFor();
    await check("settings");
    for (const panel of ["noise", "inspect", "export"]) {
      await page.locator(`#tab-${panel}`).click();
      await page.waitForTimeout(2500);
      await settled(page);
      await check(panel);
    }
    await page.locator("#help").click();
    await check("keyboard");
  });
}

test("? lists the keys, Escape closes the list", async (t) => {
  const { page } = await open(t, [sample("noisy.png")]);
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keyboard" });
  await dialog.waitFor();
  for (const text of ["Split", "Undo", "Measure noise in a rectangle", "Fit"])
    assert.equal(await dialog.getByText(text, { exact: true }).count(), 1, text);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
});

test("every control has a name and can be reached by Tab", async (t) => {
  const { page } = await open(t, [sample("noisy.png")]);
  const reached = new Set();
  for (let n = 0; n < 80; n += 1) {
    await page.keyboard.press("Tab");
    const name = await page.evaluate(() => {
      const { activeElement: element } = document;
      if (!element || element === document.body) return null;
      const text =
        element.getAttribute("aria-label") ||
        element.textContent?.trim() ||
        /** @type {any} */ (element).labels?.[0]?.textContent ||
        element.getAttribute("title");
      return `${element.tagName} ${element.id} ${text ?? "(no name)"}`;
    });
    if (name) reached.add(name);
  }
  assert.ok(![...reached].some((name) => name.includes("(no name)")), [...reached].join("\n"));
  for (const id of ["picture", "divider", "zoom-in", "theme", "help", "tab-settings"])
    assert.ok(
      [...reached].some((name) => name.split(" ")[1] === id),
      `${id} is not reached`,
    );
});

test("the theme follows the system until it is changed", async (t) => {
  const { page } = await open(t, [sample("noisy.png")]);
  const shade = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await shade();
  await page.emulateMedia({ colorScheme: "light" });
  const light = await shade();
  assert.notEqual(dark, light);
  await page.locator("#theme").click();
  assert.equal(await shade(), dark);
});

// What the tests share: quell studio as a process of its own, a real browser, and pictures.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after } from "node:test";

// The packages are installed into the target folder, not beside this file.
export const packages = createRequire(join(process.env.STUDIO_PACKAGES ?? "node_modules", "..", "package.json"));
const { chromium } = packages("playwright-core");

export const root = resolve(import.meta.dirname, "../../..");
export const quell = process.env.QUELL ?? join(root, "target/debug/quell");
export const sample = (/** @type {string} */ name) => join(root, "samples", name);

/** A folder that is gone when the tests are done. */
export function folder(test) {
  const path = mkdtempSync(join(tmpdir(), "quell-studio-"));
  test.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Runs the command line; gives what it wrote to standard output. */
export const run = (...flags) => execFileSync(quell, flags, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

/** Starts quell studio; `url` is what it printed. */
export async function serve(files, folder) {
  const child = spawn(quell, ["studio", ...files, "--no-browser"], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  const url = await new Promise((found, failed) => {
    const look = (data) => {
      said += data;
      const match = /http:\/\/127\.0\.0\.1:\d+\/#\S+/.exec(said);
      if (match) found(match[0]);
    };
    child.stdout.on("data", look);
    child.stderr.on("data", look);
    child.on("error", failed);
    child.on("exit", (code) => failed(new Error(`quell studio ended with ${code}: ${said}`)));
  });
  const ended = new Promise((done) => child.on("exit", done));
  return {
    url,
    stop: async (signal = "SIGINT") => {
      child.kill(signal);
      const late = setTimeout(() => child.kill("SIGKILL"), 5000);
      await ended;
      clearTimeout(late);
    },
  };
}

let browser;
after(async () => (await browser)?.close());

/** Debian's Chromium, with WebGL2 drawn by the processor; one for all tests of a file. */
export function launch() {
  browser ??= chromium.launch({
    executablePath: process.env.CHROMIUM ?? "chromium",
    args: [
      "--no-sandbox",
      "--use-gl=angle",
      "--use-angle=swiftshader",
      "--enable-unsafe-swiftshader",
      "--force-color-profile=srgb",
    ],
  });
  return browser;
}

/** A page of a server; errors in it fail the test that looks at `problems`. */
export async function visit(url, options = {}) {
  const context = await (
    await launch()
  ).newContext({ viewport: { width: 1280, height: 720 }, colorScheme: "dark", ...options });
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    // A server that is gone, or refuses what a test asks wrongly, is said by the browser too.
    if (message.type() === "error" && !/Failed to load resource|ERR_/.test(message.text()))
      problems.push(message.text());
  });
  await page.goto(url);
  return { page, context, problems };
}

/** Waits until what is to be seen is the result of the present settings. */
export async function settled(page) {
  await page.waitForFunction(
    () => {
      const { state, settled } = globalThis.studio ?? {};
      return state?.connection === "there" && settled();
    },
    null,
    { timeout: 120000, polling: 50 },
  );
}

/** Studio, browser and page with these files, until the test is done. */
export async function open(test, files, options = {}) {
  const place = options.folder ?? folder(test);
  const server = await serve(files, place);
  test.after(() => server.stop());
  const { page, context, problems } = await visit(server.url, options.context);
  test.after(() => context.close());
  await settled(page);
  return { server, page, context, problems, folder: place };
}

/** Pixels of the screen as RGB, from a screenshot of a part. */
export async function pixels(page, clip) {
  const png = await page.screenshot({ clip });
  return page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const context = canvas.getContext("2d");
    context.drawImage(bitmap, 0, 0);
    return {
      width: bitmap.width,
      height: bitmap.height,
      data: Array.from(context.getImageData(0, 0, bitmap.width, bitmap.height).data),
    };
  }, png.toString("base64"));
}

/** A grey 16-bit PGM: a ramp, with values that 8 bits cannot hold. */
export function writeRamp(path, width, height) {
  const data = Buffer.alloc(width * height * 2);
  for (let index = 0; index < width * height; index += 1) data.writeUInt16BE((index * 7 + 12345) % 65536, index * 2);
  writeFileSync(path, Buffer.concat([Buffer.from(`P5\n${width} ${height}\n65535\n`), data]));
}

/** A large colour PPM: stripes and noise that is the same every time. */
export function writeLarge(path, width, height) {
  const data = Buffer.alloc(width * height * 3);
  let seed = 1;
  for (let index = 0; index < data.length; index += 1) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const x = Math.floor(index / 3) % width;
    data[index] = 90 + 60 * ((x >> 6) & 1) + (seed >>> 27);
  }
  writeFileSync(path, Buffer.concat([Buffer.from(`P6\n${width} ${height}\n255\n`), data]));
}

/** A grey clip of a bar that moves, in noise that is the same every time. */
export function writeClip(path, width, height, frames) {
  const parts = [Buffer.from(`YUV4MPEG2 W${width} H${height} F25:1 Ip A1:1 Cmono\n`)];
  let seed = 7;
  for (let frame = 0; frame < frames; frame += 1) {
    const data = Buffer.alloc(width * height);
    for (let index = 0; index < data.length; index += 1) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      data[index] = (Math.abs((index % width) - 20 - 4 * frame) < 8 ? 180 : 80) + (seed >>> 27);
    }
    parts.push(Buffer.from("FRAME\n"), data);
  }
  writeFileSync(path, Buffer.concat(parts));
}

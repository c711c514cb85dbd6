// Makes the pictures of the page in docs/images from the demo project: `scripts/page pictures`.
// The demo is made anew by `wellkept admin demo`, so that anybody gets the same pictures.
import { spawn, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const root = new URL("../", import.meta.url);
const { chromium } = createRequire(new URL("web/package.json", root))("@playwright/test");
const WELLKEPT = fileURLToPath(new URL(".venv/bin/wellkept", root));
const START_MS = 120_000;

/** A picture: its name, the view, what is done before it is taken, and how the browser is set. */
const PICTURES = [
  { name: "health", view: "health", wait: "main canvas" },
  { name: "sessions", view: "sessions", wait: "main ol li" },
  { name: "memories", view: "memories?q=tests", wait: "[data-row='0']", open: "[data-row='0']" },
  { name: "review", view: "review", wait: "main article h2", colorScheme: "dark" },
  { name: "map", view: "map/src%2Fharbour%2Fbilling%2Frounding.py", wait: "main aside, main h1" },
  { name: "phone", view: "review", wait: "main article", viewport: { width: 390, height: 844 } },
];

/** The address of a demo's page, once it is up. */
function demo() {
  const server = spawn(WELLKEPT, ["admin", "demo"], { stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((found, failed) => {
    let said = "";
    const timer = setTimeout(() => failed(new Error("The demo did not start.")), START_MS);
    server.once("exit", () => failed(new Error("The demo ended.")));
    server.stdout.on("data", (text) => {
      said += text;
      const address = /http:\/\/\S+token=[\w-]+/.exec(said)?.[0];
      if (!address) return;
      clearTimeout(timer);
      found({ server, address });
    });
  });
}

async function take(browser, address, picture) {
  const { name, view, wait, open, viewport = { width: 1280, height: 800 }, colorScheme = "light" } = picture;
  const context = await browser.newContext({ viewport, colorScheme, locale: "en-GB" });
  const page = await context.newPage();
  await page.goto(address);
  await page.goto(`${new URL(address).origin}/#/${view}`);
  await page.locator(wait).first().waitFor();
  if (open) await page.locator(open).click();
  await page.waitForLoadState("networkidle", { timeout: 5_000 }).catch(() => undefined);
  // What a client did just now is told for a moment; a picture is of the page at rest.
  await page.waitForTimeout(8_500);
  const path = fileURLToPath(new URL(`docs/images/page-${name}.png`, root));
  await page.screenshot({ path, animations: "disabled" });
  // A third of the size; Debian has pngquant. Without it the picture stays as it is.
  const { error } = spawnSync("pngquant", ["--force", "--skip-if-larger", "--ext", ".png", "128", path]);
  console.log(`docs/images/page-${name}.png${error ? " (large: there is no pngquant)" : ""}`);
  await context.close();
}

const { server, address } = await demo();
const browser = await chromium.launch({ executablePath: process.env.WELLKEPT_CHROMIUM, args: ["--no-sandbox", "--disable-lcd-text", "--font-render-hinting=none"] });
try {
  for (const picture of PICTURES) await take(browser, address, picture);
} finally {
  await browser.close();
  server.removeAllListeners("exit");
  server.kill("SIGINT");
}

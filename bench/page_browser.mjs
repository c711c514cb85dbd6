// Measures the page in Chromium for `bench.page`; prints one JSON object.
import { createRequire } from "node:module";

const require = createRequire(new URL("../web/package.json", import.meta.url));
const { chromium } = require("@playwright/test");
const { address, token, browser: executablePath, queries } = JSON.parse(process.argv[2]);

const SCROLL_MS = 5_000;
const SCROLL_STEP = 24;
const KEY_MS = 90;

const round = (value, digits = 1) => Math.round(value * 10 ** digits) / 10 ** digits;
const at = (ordered, share) => ordered[Math.min(ordered.length - 1, Math.floor(ordered.length * share))] ?? 0;

function spread(values) {
  const ordered = values.toSorted((a, b) => a - b);
  return { p50: round(at(ordered, 0.5)), p95: round(at(ordered, 0.95)), max: round(ordered.at(-1) ?? 0) };
}

/** Bytes that came over the wire, compressed as the server sent them. */
async function countBytes(page) {
  const client = await page.context().newCDPSession(page);
  await client.send("Network.enable");
  await client.send("Performance.enable");
  let bytes = 0;
  client.on("Network.loadingFinished", (event) => (bytes += event.encodedDataLength));
  const metrics = async () => Object.fromEntries((await client.send("Performance.getMetrics")).metrics.map((one) => [one.name, one.value]));
  return { bytes: () => bytes, metrics };
}

/** What the browser itself says about a page that has loaded. */
async function costs(metrics) {
  const now = await metrics();
  return {
    script_ms: round(now.ScriptDuration * 1000),
    layout_ms: round((now.LayoutDuration + now.RecalcStyleDuration) * 1000),
    task_ms: round(now.TaskDuration * 1000),
    heap_mb: round(now.JSHeapUsedSize / 1e6),
    nodes: now.Nodes,
  };
}

const paint = () => ({
  painted_ms: Math.round(performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0),
  layout_shift: window.shifted ?? 0,
});

/** Scroll one element by a fixed step in every frame, and count the frames. */
const scroll = ([selector, length, step]) => new Promise((done) => {
  const element = selector ? document.querySelector(selector) : document.scrollingElement;
  const gaps = [];
  let before = performance.now();
  const end = before + length;
  const frame = (now) => {
    gaps.push(now - before);
    before = now;
    element.scrollTop += step;
    if (now < end) requestAnimationFrame(frame);
    else done({ gaps: gaps.slice(1), top: element.scrollTop });
  };
  requestAnimationFrame(frame);
});

function frames({ gaps, top }) {
  const total = gaps.reduce((sum, one) => sum + one, 0);
  return { frames_a_second: round((1000 * gaps.length) / total), gap_ms: spread(gaps), scrolled_px: Math.round(top) };
}

/** Type each query key by key; how long each question took to be answered, and to be on the screen. */
async function typing(page, asked, beforeEach) {
  await page.evaluate(() => performance.clearResourceTimings());
  const painted = [];
  const search = page.locator("#search");
  for (const query of asked) {
    await search.fill("");
    await beforeEach(query);
    await search.focus();
    for (const letter of query) {
      await page.keyboard.type(letter);
      await page.waitForTimeout(KEY_MS);
    }
    await page.waitForFunction(() => document.querySelector("[data-row='0']"));
  }
  const answers = await page.evaluate(() => performance.getEntriesByType("resource").filter((one) => one.name.includes("find_memories") && one.responseEnd > 0).map((one) => one.duration));
  painted.push(...(await page.evaluate(() => window.keys.splice(0))));
  const { p50, p95, max } = spread(answers);
  return { questions: answers.length, answer_ms_p50: p50, answer_ms_p95: p95, answer_ms_max: max, key_to_paint_ms: spread(painted) };
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const viewport = { width: 1440, height: 900 };
const context = await browser.newContext({ viewport });
await context.addInitScript(() => {
  performance.setResourceTimingBufferSize(5_000);
  window.keys = [];
  window.shifted = 0;
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) if (one.name === "keydown") window.keys.push(one.duration);
  }).observe({ type: "event", durationThreshold: 16, buffered: true });
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifted += one.value;
  }).observe({ type: "layout-shift", buffered: true });
});

// An empty page that is as tall as the list.
const blank = await context.newPage();
const blankMeter = await countBytes(blank);
await blank.goto("data:text/html,<!doctype html><title>empty</title><body style='height:9000000px'>");
await blank.waitForTimeout(500);
const empty = { ...(await costs(blankMeter.metrics)), scroll: frames(await blank.evaluate(scroll, ["", SCROLL_MS, SCROLL_STEP])) };
await blank.close();

// The first visit: token to cookie, then the default view.
const page = await context.newPage();
await page.goto(`${address}/?token=${token}`);
await page.close();
const first = await context.newPage();
const meter = await countBytes(first);
await first.goto(`${address}/`);
await first.getByRole("heading", { level: 1 }).waitFor();
await first.waitForLoadState("networkidle", { timeout: 8_000 }).catch(() => undefined);
await first.waitForTimeout(1_500);
const health = { kb: round(meter.bytes() / 1000), ...(await first.evaluate(paint)), ...(await costs(meter.metrics)) };

// The list.
await first.goto(`${address}/#/memories`);
await first.locator("[data-row='0']").waitFor();
const listed = await first.locator("main ul li[aria-setsize]").first().getAttribute("aria-setsize");
const scrolled = await first.evaluate(scroll, ["main section div.overflow-auto", SCROLL_MS, SCROLL_STEP]);
const rows = await first.locator("[data-row]").count();
const reached = await first.locator("[data-row]").last().getAttribute("data-row");
const scrollFigures = { listed: Number(listed), ...frames(scrolled), rows_in_document: rows, row_reached: Number(reached) };

// Search as you type: quiet, then each time right after something was kept.
const quiet = await typing(first, queries, async () => first.waitForTimeout(400));
const written = await typing(first, queries, async (query) => {
  await context.request.post(`${address}/api/memory_store`, { headers: { authorization: `Bearer ${token}` }, data: { content: `Noted while typing: ${query}`, type: "fact" } });
});

await browser.close();
console.log(JSON.stringify({ empty, health, scroll: scrollFigures, typing: quiet, typing_after_write: written }));

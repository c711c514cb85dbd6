// Measures the page in Chromium for `bench.page`; prints one JSON object.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(new URL("../web/package.json", import.meta.url));
const { chromium } = require("@playwright/test");
const { address, token, server, browser: executablePath, queries } = JSON.parse(process.argv[2]);

const SCROLL_MS = 5_000;
const SCROLL_STEP = 24;
const KEY_MS = 90;
const TICKS_A_SECOND = 100;

const round = (value, digits = 1) => Math.round(value * 10 ** digits) / 10 ** digits;
const at = (ordered, share) => ordered[Math.min(ordered.length - 1, Math.floor(ordered.length * share))] ?? 0;

function spread(values) {
  const ordered = values.toSorted((a, b) => a - b);
  return { p50: round(at(ordered, 0.5)), p95: round(at(ordered, 0.95)), max: round(ordered.at(-1) ?? 0) };
}

/** Processor time of the server so far, in milliseconds; null where the system does not say. */
function serverMs() {
  try {
    const fields = readFileSync(`/proc/${server}/stat`, "utf8").split(") ")[1].split(" ");
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_A_SECOND;
  } catch {
    return null;
  }
}

/** Bytes that came over the wire, compressed as the server sent them. */
async function countBytes(page) {
  const client = await page.context().newCDPSession(page);
  await client.send("Network.enable");
  // Processor time of the main thread, not the clock: the latter counts what else the machine does.
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
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

/** Frames a second by the clock, and what the main thread did for each: the latter hardly depends on what else runs. */
async function scrolled(page, metrics, selector) {
  const before = await metrics();
  const { gaps, top } = await page.evaluate(scroll, [selector, SCROLL_MS, SCROLL_STEP]);
  const after = await metrics();
  const total = gaps.reduce((sum, one) => sum + one, 0);
  const work = (1000 * (after.TaskDuration - before.TaskDuration)) / gaps.length;
  return { frames_a_second: round((1000 * gaps.length) / total), gap_ms: spread(gaps), work_ms_a_frame: round(work, 2), scrolled_px: Math.round(top) };
}

/** Type each query key by key; how long each question took to be answered, and to be on the screen. */
async function typing(page, asked, beforeEach) {
  await page.evaluate(() => performance.clearResourceTimings());
  const began = serverMs();
  const search = page.locator("#search");
  for (const query of asked) {
    await search.fill("");
    await beforeEach(query);
    await search.focus();
    for (const letter of query) {
      await page.keyboard.type(letter);
      await page.waitForTimeout(KEY_MS);
    }
    await page.locator("[data-row='0']").waitFor();
  }
  const answers = await page.evaluate(() => performance.getEntriesByType("resource").filter((one) => one.name.includes("find_memories") && one.responseEnd > 0).map((one) => one.duration));
  const painted = await page.evaluate(() => window.keys.splice(0));
  const worked = began === null ? null : round((serverMs() - began) / answers.length);
  const { p50, p95, max } = spread(answers);
  return { server_work_ms: worked, questions: answers.length, answer_ms_p50: p50, answer_ms_p95: p95, answer_ms_max: max, key_to_paint_ms: spread(painted) };
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
const empty = { ...(await costs(blankMeter.metrics)), scroll: await scrolled(blank, blankMeter.metrics, "") };
await blank.close();

// The first visit: token to cookie, then the default view.
const entry = await browser.newContext();
await (await entry.newPage()).goto(`${address}/?token=${token}`);
await context.addCookies(await entry.cookies());
await entry.close();
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
const list = await scrolled(first, meter.metrics, "main section div.overflow-auto");
const rows = await first.locator("[data-row]").count();
const reached = await first.locator("[data-row]").last().getAttribute("data-row");
const scrollFigures = { listed: Number(listed), ...list, rows_in_document: rows, row_reached: Number(reached) };

// Search as you type: quiet, then each time right after something was kept.
const quiet = await typing(first, queries, async () => first.waitForTimeout(400));
const written = await typing(first, queries, async (query) => {
  await context.request.post(`${address}/api/remember`, { headers: { authorization: `Bearer ${token}` }, data: { content: `Noted while typing: ${query}`, type: "fact" } });
});

await browser.close();
console.log(JSON.stringify({ empty, health, scroll: scrollFigures, typing: quiet, typing_after_write: written }));

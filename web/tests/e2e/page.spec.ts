import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { expect, test } from "./server";

const VIEWS = [
  ["next", "Later in the session"],
  ["pages", "What a newcomer reads first"],
  ["health", "In good shape"],
  ["memories", "Stripe events can arrive"],
  ["review", "Keep it"],
  ["sessions", "What memory did here"],
  ["map", "booking"],
  ["recipes", "No recipe yet"],
  ["skills", "Preview"],
  ["chat", "Ask the memory"],
  ["settings", "Search by meaning"],
] as const;

async function seriousFaults(page: Page): Promise<string[]> {
  const found = await new AxeBuilder({ page }).analyze();
  return found.violations
    .filter((one) => one.impact === "serious" || one.impact === "critical")
    .map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

for (const theme of ["light", "dark"] as const) {
  test.describe(theme, () => {
    test.use({ colorScheme: theme });
    test.setTimeout(300_000);
    test("every view is whole and accessible", async ({ open, page }) => {
      for (const [view, text] of VIEWS) {
        await test.step(view, async () => {
          await open(`#/${view}`);
          await expect(page.getByText(text).first()).toBeVisible();
          await expect(page.getByRole("heading", { level: 1 })).toHaveCount(1);
          expect(await seriousFaults(page)).toEqual([]);
          await page.screenshot({ path: `test-results/${view}-${theme}.png` });
        });
      }
    });
  });
}

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true });
  test.setTimeout(180_000);
  test("every view fits, down to 360", async ({ open, page }) => {
    for (const [view] of VIEWS) {
      await test.step(view, async () => {
        await page.setViewportSize({ width: 390, height: 844 });
        await open(`#/${view}`);
        await expect(page.getByRole("heading", { level: 1 })).toHaveCount(1);
        await page.waitForTimeout(300);
        await page.screenshot({ path: `test-results/${view}-390.png` });
        await page.setViewportSize({ width: 360, height: 780 });
        await expect(page.getByRole("link", { name: "Memories", exact: true }).last()).toBeInViewport();
        const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
        expect(wide).toBe(false);
      });
    }
  });
});

test("search as you type, open, and everything is in the address", async ({ open }) => {
  const page = await open("#/health");
  await page.keyboard.press("/");
  await page.keyboard.type("stripe order");
  await expect(page).toHaveURL(/#\/memories\?q=stripe\+order/);
  const first = page.locator("[data-row='0']");
  await expect(first).toContainText("Stripe events can arrive out of order");
  await expect(first.locator(".hit").first()).toHaveText("Stripe");
  await first.click();
  await expect(page).toHaveURL(/#\/memories\/[0-9a-z-]+\?q=stripe/);
  await expect(page.getByRole("heading", { name: /Stripe events/ })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("heading", { name: /Stripe events/ })).toBeVisible();
});

test("filters have counts and can be combined", async ({ open }) => {
  const page = await open("#/memories");
  await page.getByRole("button", { name: /^WARN/ }).click();
  await expect(page).toHaveURL(/badge=WARN/);
  await expect(page.locator("[data-row]").first()).toContainText("WARN");
  await page.getByLabel("State", { exact: true }).selectOption("review");
  await expect(page.locator("[data-row]")).toHaveCount(1);
  await expect(page.locator("[data-row]")).toContainText("Closing a sailing");
});

test("hostile text is text", async ({ open }) => {
  const page = await open("#/memories?q=zero");
  const row = page.locator("[data-row]", { hasText: "<img src=x" });
  await expect(row).toContainText("<script>window.hacked=1</script>");
  await row.click();
  await expect(page.getByRole("heading", { name: /script/ })).toBeVisible();
  await expect(page.locator("main h2 .mark")).toHaveText(["U+200B", "U+202E"]);
  expect(await page.evaluate(() => (window as { hacked?: number }).hacked)).toBeUndefined();
  expect(await page.locator("main img").count()).toBe(0);
});

test("a person teaches, and the list knows", async ({ open }) => {
  const page = await open("#/memories");
  await expect(page.locator("[data-row='0']")).toBeVisible();
  await page.keyboard.press("t");
  const dialog = page.getByRole("dialog");
  await dialog.locator("label", { hasText: "Preference" }).click();
  await dialog.getByLabel(/What should the agent know/).fill("Answer in short sentences.");
  await page.keyboard.press("Control+Enter");
  await expect(dialog).toBeHidden();
  await expect(page.getByRole("status").filter({ hasText: "Kept" })).toBeVisible();
  await expect(page.locator("[data-row]", { hasText: "Answer in short sentences." })).toBeVisible();
});

test("the palette finds memories and places", async ({ open }) => {
  const page = await open("#/health");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("Control+k");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("combobox").fill("pnpm");
  await expect(dialog.getByRole("option").first()).toContainText("Use pnpm");
  await dialog.getByRole("combobox").fill("sessions");
  await dialog.getByRole("option", { name: /Go to Sessions/ }).click();
  await expect(page).toHaveURL(/#\/sessions/);
  await page.keyboard.press("Control+Shift+M");
  await expect(page).toHaveURL(/#\/memories/);
});

test("the whole review by keyboard", async ({ open, server }) => {
  const page = await open("#/health");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("r");
  await expect(page.getByText("0 of 4 done").first()).toBeVisible();
  const heading = page.locator("main article h2").first();
  const status = page.getByRole("status");
  const waiting = async () => {
    const answer = await fetch(`${server.url}/api/list?needs_review=true`, { headers: { authorization: `Bearer ${server.token}` } });
    return ((await answer.json()) as { total: number }).total;
  };

  // Keep, and take it back.
  const first = (await heading.textContent()) ?? "";
  await page.keyboard.press("y");
  await expect(status.filter({ hasText: "Kept:" })).toBeVisible();
  await expect(page.getByText("1 of 4 done").first()).toBeVisible();
  expect(await waiting()).toBe(3);
  await page.keyboard.press("z");
  await expect(status.filter({ hasText: "Undone" })).toBeVisible();
  await expect(page.getByText("0 of 4 done").first()).toBeVisible();
  expect(await waiting()).toBe(4);

  // Later, and back.
  const second = (await heading.textContent()) ?? "";
  expect(second).not.toBe(first);
  await page.keyboard.press("l");
  await expect(heading).not.toHaveText(second);
  await page.keyboard.press("k");
  await expect(heading).toHaveText(second);

  // Reject with a reason, in two keys.
  await page.keyboard.press("n");
  await page.keyboard.press("2");
  await expect(status.filter({ hasText: "Rejected:" })).toBeVisible();
  await expect(heading).not.toHaveText(second);

  // Correct in one's own words.
  await page.keyboard.press("e");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox").fill("Booking tests need seedPorts() and a clock.");
  await expect(dialog.locator("ins").first()).toBeVisible();
  await page.keyboard.press("Control+Enter");
  await expect(dialog).toBeHidden();
  await expect(status.filter({ hasText: "Corrected" })).toBeVisible();

  // The rest, after a question.
  await page.keyboard.press("Shift+Y");
  await expect(dialog).toContainText("Keep");
  await page.keyboard.press("y");
  await expect(dialog).toBeHidden();
  await expect.poll(waiting).toBe(0);
});

test("flag wrong is gone at once, and Z brings it back", async ({ open }) => {
  const page = await open("#/memories?q=keyed+by+seat");
  const row = page.locator("[data-row]", { hasText: "A hold is keyed by seat" });
  await row.focus();
  await page.keyboard.press("f");
  await expect(page.getByText("Flagged wrong. The agent no longer sees it.").first()).toBeVisible();
  await page.keyboard.press("z");
  await expect(page.getByRole("status").filter({ hasText: "Undone" })).toBeVisible();
  await expect(row).toBeVisible();
  await expect(row).not.toContainText("needs review");
});

test("many at once, with undo", async ({ open }) => {
  const page = await open("#/memories?badge=PATN");
  const rows = page.locator("[data-row]");
  await expect(rows.first()).toBeVisible();
  const before = await rows.count();
  await rows.first().focus();
  await page.keyboard.press("x");
  await expect(page.getByRole("toolbar")).toContainText("1 selected");
  await page.getByRole("toolbar").getByRole("button", { name: "Archive" }).click();
  await expect(page.getByRole("status").filter({ hasText: "Archived" })).toBeVisible();
  await page.keyboard.press("z");
  await expect(page.getByRole("status").filter({ hasText: "Undone" })).toBeVisible();
  await expect(rows).toHaveCount(before);
});

test("what others write comes in live and moves nothing", async ({ open, server }) => {
  const page = await open("#/memories");
  await expect(page.locator("[data-row='0']")).toBeVisible();
  server.run("remember", "Ports are named by their UN code.", "--type", "convention");
  await expect(page.getByRole("button", { name: /1 new/ })).toBeVisible();
  await page.waitForTimeout(800);
  await expect(page.locator("[data-row='0']")).not.toContainText("Ports are named");
  await page.getByRole("button", { name: /1 new/ }).click();
  await expect(page.locator("[data-row='0']")).toContainText("Ports are named");
});

test("languages and colours change at once and stay", async ({ open }) => {
  const page = await open("#/settings");
  for (const [name, code, heading] of [["日本語", "ja", "設定"], ["中文", "zh", "设置"], ["Français", "fr", "Réglages"]] as const) {
    await page.getByText(name, { exact: true }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(heading);
    await expect(page.locator("html")).toHaveAttribute("lang", code);
  }
  await page.getByText("Sombre", { exact: true }).click();
  await page.reload();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Réglages");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.goto(page.url().replace("settings", "health"));
  await expect(page.getByText("En bonne forme.")).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
});

test("a stopped server: the page says so, keeps what it shows, and recovers", async ({ open, server }) => {
  const page = await open("#/memories");
  await expect(page.locator("[data-row='0']")).toBeVisible();
  await server.kill();
  await expect(page.getByRole("alert").filter({ hasText: "The server stopped." })).toBeVisible();
  await expect(page.locator("[data-row='0']")).toBeVisible();
  await server.start();
  await expect(page.getByRole("alert").filter({ hasText: "The server stopped." })).toBeHidden();
  server.run("remember", "Timetables change on the second Sunday.", "--type", "fact");
  await expect(page.getByRole("button", { name: /new/ }).first()).toBeVisible();
});

test("a file on the map: what a change reaches, and what is kept about it", async ({ open }) => {
  const page = await open("#/map/booking%2Fholds.ts");
  await expect(page.getByText(/A change here reaches/)).toBeVisible();
  await expect(page.getByText("A hold is keyed by seat and sailing").first()).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
});

test("chat answers from memory, with sources", async ({ open }) => {
  const page = await open("#/chat");
  await page.getByLabel("Ask something about this project").fill("When do held seats expire?");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("list", { name: "Sources" })).toContainText("Held seats expire after 15 minutes");
});

test("the next session is shown before it happens, and can be steered", async ({ open }) => {
  const page = await open("#/next");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("the agent is given");
  const line = page.getByRole("listitem").filter({ hasText: "Use pnpm, never npm." });
  await line.hover();
  await line.getByRole("button", { name: "Mute" }).click();
  await expect(line.getByRole("button", { name: "Unmute" })).toBeVisible();
  await line.getByRole("button", { name: "Unmute" }).click();
  await expect(line.getByRole("button", { name: "Mute" })).toBeVisible();
  await page.getByRole("button", { name: "More budget" }).click();
  await page.getByRole("button", { name: "Keep 260" }).click();
  await expect(page.getByText("of 260 tokens")).toBeVisible();
  await expect(page.getByRole("button", { name: "Keep 260" })).toBeHidden();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByText("of 250 tokens")).toBeVisible();
  await page.getByLabel("Try a prompt").fill("Paint the funnel of the ferry green.");
  await expect(page.getByRole("heading", { name: "Nothing would be given." })).toBeVisible();
  await page.getByRole("button", { name: "Silence is right" }).click();
  await expect(page.getByText("Kept as an example")).toBeVisible();
});

test("a line of a page is corrected in place and taken back", async ({ open }) => {
  const page = await open("#/pages/rules");
  const line = page.getByRole("listitem").filter({ hasText: "Use pnpm, never npm." });
  await line.hover();
  await line.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("The statement").fill("Use pnpm 9, never npm.");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("paragraph").filter({ hasText: "“Use pnpm 9, never npm.”" })).toBeVisible();
  await page.keyboard.press("z");
  await expect(page.getByRole("paragraph").filter({ hasText: "“Use pnpm, never npm.”" })).toBeVisible();
});

test("without the token the page says how to open it", async ({ browser, server }) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${server.url}/`);
  await expect(page.getByRole("heading", { name: "This browser is not known yet." })).toBeVisible();
  await context.close();
});

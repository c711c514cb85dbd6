/** What a person changes in Settings, Skills and Sessions, against the real server. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "./server";

test("budgets, methodology and the model of the search are changed here, with undo", async ({ open, server }) => {
  const page = await open("#/settings");
  const budget = page.getByLabel("Most tokens at a session start");
  await expect(budget).toHaveValue("250");
  await budget.fill("1200");
  await budget.press("Enter");
  await expect(page.getByRole("status").filter({ hasText: "Saved" })).toBeVisible();
  expect(server.run("config", "get", "context.budget_tokens")).toContain("1200");
  await page.getByRole("button", { name: "Undo" }).first().click();
  await expect(budget).toHaveValue("250");
  await page.getByLabel("Methodology").selectOption("tdd");
  await expect(page.getByText("methodology: TDD", { exact: false }).first()).toBeVisible();
  await page.getByLabel("Methodology").selectOption("native");
  await expect(page.getByLabel("Who makes the vectors")).toBeDisabled(); // the environment sets it
});

test("a client is connected after its difference was shown, and disconnected again", async ({ open, server }) => {
  const page = await open("#/settings");
  const line = page.locator("div", { hasText: /^claude-code, in this project/ }).last().locator("..");
  await line.getByRole("button", { name: "Connect" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.locator("pre").first()).toContainText("+");
  await dialog.getByRole("button", { name: "Write it" }).click();
  await expect(page.getByRole("status").filter({ hasText: "set up" })).toBeVisible();
  expect(readFileSync(join(server.project, ".claude/settings.local.json"), "utf8")).toContain("wellkept");
  await line.getByRole("button", { name: "Disconnect" }).click();
  await dialog.getByRole("button", { name: "Write it" }).click();
  await expect(dialog).toBeHidden();
});

test("memories of a deleted file are found, shown first, and removed with undo", async ({ open, server }) => {
  const file = join(server.project, "fares/old.ts");
  mkdirSync(join(server.project, "fares"), { recursive: true });
  writeFileSync(file, "export const fare = 1;\n");
  server.run("remember", "Old fares are rounded up.", "--type", "fact", "--file", "fares/old.ts");
  rmSync(file);
  const page = await open("#/settings");
  const dialog = page.getByRole("dialog");
  const preview = (name: string) => page.locator("div", { hasText: new RegExp(`^${name}`) }).last().locator("..").getByRole("button", { name: "Preview" });
  await preview("Check files").click();
  await expect(dialog).toContainText("Old fares are rounded up.");
  await dialog.getByRole("button", { name: /Do it for/ }).click();
  await expect(dialog).toBeHidden();
  await preview("Remove memories of deleted files").click();
  await expect(dialog).toContainText("Old fares are rounded up.");
  await dialog.getByRole("button", { name: "Do it for 1" }).click();
  await expect(page.getByRole("status").filter({ hasText: "Deleted" })).toBeVisible();
  await page.keyboard.press("z");
  await expect(page.getByRole("status").filter({ hasText: "Undone" })).toBeVisible();
  expect(server.run("list", "--json")).toContain("Old fares are rounded up.");
});

test("index again says how far it is, and when it is done", async ({ open }) => {
  const page = await open("#/settings");
  await page.locator("div", { hasText: /^Index again/ }).last().locator("..").getByRole("button", { name: "Start" }).click();
  await expect(page.getByRole("status").filter({ hasText: "Index again: done" })).toBeVisible();
});

test("a session grows while a client works in it", async ({ open, server }) => {
  const page = await open("#/sessions/5e551002-bbbb-4000-8000-000000000002");
  await expect(page.getByText("What memory did here")).toBeVisible();
  server.tell("5e551002-bbbb-4000-8000-000000000002", "UserPromptSubmit", { prompt: "Now release the held seats as well." });
  server.tell("5e551002-bbbb-4000-8000-000000000002", "Stop", {});
  await expect(page.getByText("Now release the held seats as well.").first()).toBeVisible();
});

test("what was held true on a day", async ({ open }) => {
  const page = await open("#/memories?as_of=2020-01-01");
  await expect(page.getByText("Nothing matches", { exact: false }).or(page.getByRole("heading", { level: 2 })).first()).toBeVisible();
  await expect(page.locator("[data-row]")).toHaveCount(0);
  await page.getByLabel("as of").fill(new Date().toISOString().slice(0, 10));
  await expect(page).toHaveURL(/as_of=20/);
});

test("a skill is made, switched, used, and says so", async ({ open, server }) => {
  const page = await open("#/skills");
  await page.getByRole("button", { name: "New" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Not A Name");
  await expect(dialog.getByRole("button", { name: "Save" })).toBeDisabled();
  await dialog.getByLabel("Name").fill("close-a-sailing");
  await dialog.getByLabel(/Description/).fill("How a sailing is closed. Use when one is cancelled.");
  await dialog.getByLabel("Text").fill("# Steps\n\n1. Release the held seats.");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("heading", { name: "close-a-sailing" })).toBeVisible();
  await expect(page.getByText("Not used yet.")).toBeVisible();
  server.run("skill", "run", "close-a-sailing");
  await page.reload();
  await expect(page.getByText("Run once", { exact: false })).toBeVisible();
  const toggle = page.getByRole("switch", { name: "close-a-sailing on or off" }).first();
  await toggle.click();
  await expect(toggle).toHaveAttribute("aria-checked", "false");
});

test("what is not allowed is said clearly", async ({ open, page }) => {
  await page.route("**/api/storage*", (route) => route.fulfill({ status: 403, contentType: "application/problem+json", body: JSON.stringify({ title: "Not allowed", detail: "A reader cannot see the storage.", hint: "Ask an owner.", status: 403 }) }));
  await open("#/settings");
  await expect(page.getByRole("alert").filter({ hasText: "You may not do this." })).toContainText("Ask an owner.");
});

test.describe("with reduced motion", () => {
  test.use({ contextOptions: { reducedMotion: "reduce" } });
  test("nothing moves", async ({ open }) => {
    const page = await open("#/health");
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    const moving = await page.evaluate(() => [...document.querySelectorAll("*")].filter((one) => {
      const style = getComputedStyle(one);
      return Number.parseFloat(style.transitionDuration) > 0.01 || (style.animationName !== "none" && Number.parseFloat(style.animationDuration) > 0.01);
    }).length);
    expect(moving).toBe(0);
  });
});

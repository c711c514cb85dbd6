import { defineConfig } from "@playwright/test";

const browser = process.env["WELLKEPT_CHROMIUM"] ?? "/usr/bin/chromium";

export default defineConfig({
  testDir: "tests/e2e",
  timeout: 90_000,
  expect: { timeout: 20_000 },
  // One server and one database, as a person has it.
  workers: 1,
  fullyParallel: false,
  reporter: [["list"]],
  outputDir: "test-results",
  use: {
    locale: "en-GB",
    timezoneId: "Europe/Zurich",
    viewport: { width: 1440, height: 900 },
    launchOptions: { executablePath: browser, args: ["--no-sandbox"] },
    trace: "retain-on-failure",
  },
});

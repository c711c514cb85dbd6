/** A real server on a real database, made by seed.py, and a page that has the cookie. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test as base, expect, type Page } from "@playwright/test";

const PYTHON = resolve("../.venv/bin/python");
const WELLKEPT = resolve("../.venv/bin/wellkept");

function freePort(): Promise<number> {
  return new Promise((found) => {
    const probe = createServer();
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => found(port));
    });
  });
}

export class Server {
  readonly folder = mkdtempSync(join(tmpdir(), "wellkept-page-"));
  readonly home = join(this.folder, "home");
  readonly project = join(this.folder, "ferrytime");
  port = 0;
  #process: ChildProcess | null = null;

  get env() {
    return { ...process.env, WELLKEPT_HOME: this.home, WELLKEPT_EMBEDDING_PROVIDER: "static", HOME: this.folder };
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get token(): string {
    return readFileSync(join(this.home, "server.token"), "utf8").trim();
  }

  seed(): void {
    spawnSync("mkdir", ["-p", this.home, this.project]);
    const done = spawnSync(PYTHON, [resolve("tests/e2e/seed.py"), this.project], { env: this.env, encoding: "utf8" });
    if (done.status !== 0) throw new Error(done.stderr);
  }

  async start(): Promise<void> {
    this.port ||= await freePort();
    this.#process = spawn(WELLKEPT, ["serve", "--port", String(this.port)], { env: this.env, cwd: this.project, stdio: "ignore" });
    for (let tries = 0; tries < 150; tries++) {
      const up = await fetch(`${this.url}/api/health`).then((answer) => answer.ok, () => false);
      if (up) return;
      await new Promise((done) => setTimeout(done, 200));
    }
    throw new Error("The server did not start.");
  }

  /** Ended at once, as by a crash. */
  async kill(): Promise<void> {
    const running = this.#process;
    this.#process = null;
    if (!running || running.exitCode !== null) return;
    const ended = new Promise((done) => running.once("exit", done));
    running.kill("SIGKILL");
    await ended;
  }

  run(...command: string[]): string {
    const done = spawnSync(WELLKEPT, command, { env: this.env, cwd: this.project, encoding: "utf8" });
    if (done.status !== 0) throw new Error(`${command.join(" ")}: ${done.stderr}`);
    return done.stdout;
  }

  /** Say something as the hook of a client does. */
  tell(session: string, event: string, fields: object): void {
    const payload = { session_id: session, cwd: this.project, hook_event_name: event, ...fields };
    const hook = spawnSync(PYTHON, ["-c", "import wellkept.clients.hook as h; print(h.__file__)"], { encoding: "utf8" }).stdout.trim();
    const done = spawnSync(PYTHON, ["-I", "-S", hook, "claude-code", event, "both"], { env: this.env, cwd: this.project, input: JSON.stringify(payload), encoding: "utf8" });
    if (done.status !== 0) throw new Error(done.stderr);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export const test = base.extend<{ open: (hash: string) => Promise<Page> }, { server: Server }>({
  server: [
     
    async ({}, use) => {
      const server = new Server();
      server.seed();
      await server.start();
      await use(server);
      await server.kill();
      server.remove();
    },
    { scope: "worker", timeout: 180_000 },
  ],
  /** The page at an address, signed in; nothing it does may fail or leave the machine. */
  open: async ({ page, server }, use) => {
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error" && /Content Security|Uncaught|React/.test(message.text())) faults.push(message.text());
    });
    page.on("response", (response) => {
      if (response.status() >= 400 && response.status() !== 403) faults.push(`${response.status()} ${response.url()}`);
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(server.url) && !request.url().startsWith("data:")) faults.push(`left the machine: ${request.url()}`);
    });
    await page.goto(`${server.url}/?token=${server.token}`);
    await use(async (hash) => {
      await page.goto(`${server.url}/${hash}`);
      await expect(page.getByRole("main")).toBeVisible();
      return page;
    });
    expect(faults).toEqual([]);
  },
});

export { expect };

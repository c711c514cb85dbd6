import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import type { Plugin } from "vite";
import own from "./package.json" with { type: "json" };

/** The licences of what is bundled travel with it. */
function licences(): Plugin {
  const textOf = (name: string) => {
    const folder = resolve("node_modules", name);
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    return `${name}\n\n${file && existsSync(folder) ? readFileSync(join(folder, file), "utf8") : ""}`;
  };
  return {
    name: "licences",
    apply: "build",
    generateBundle() {
      const source = Object.keys(own.dependencies).map(textOf).join("\n\n----\n\n");
      this.emitFile({ type: "asset", fileName: "licences.txt", source });
    },
  };
}

// For `npm run dev`: a running server, and its token from the environment.
const server = process.env["WELLKEPT_URL"] ?? "http://127.0.0.1:7437";
const token = process.env["WELLKEPT_TOKEN"];

export default defineConfig({
  plugins: [react(), tailwindcss(), licences()],
  resolve: { alias: { "@": resolve("src") } },
  build: {
    outDir: "../packages/wellkept/src/wellkept/api/page",
    emptyOutDir: true,
    target: "es2023",
    cssTarget: "chrome123",
    manifest: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: {
    proxy: {
      "/api": { target: server, headers: token ? { authorization: `Bearer ${token}` } : {} },
    },
  },
  test: { environment: "jsdom", include: ["tests/**/*.test.{ts,tsx}"], setupFiles: "tests/setup.ts" },
});

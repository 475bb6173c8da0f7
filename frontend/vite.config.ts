/** Build and development server. `vite --mode mock` answers the API itself, with made-up data (dev/mock-api.ts). */
import { brotliCompressSync, gzipSync } from "node:zlib";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { mockApi } from "./dev/mock-api";

/** Writes a .gz and a .br beside every text file built: the service sends those to browsers that take them. */
const packed = (): Plugin => ({
  name: "packed",
  apply: "build",
  enforce: "post",
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) {
      const content = Buffer.from(file.type === "chunk" ? file.code : file.source);
      this.emitFile({ type: "asset", fileName: `${file.fileName}.gz`, source: gzipSync(content, { level: 9 }) });
      this.emitFile({ type: "asset", fileName: `${file.fileName}.br`, source: brotliCompressSync(content) });
    }
  },
});

const service = process.env["PLACEWRIGHT_SERVICE"] ?? "http://127.0.0.1:8000";

export default defineConfig(({ mode }) => ({
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  plugins: [packed(), ...(mode === "mock" ? [mockApi()] : [])],
  build: { target: "es2022", reportCompressedSize: false },
  server: { proxy: { "/api": service } },
  // The limit catches what hangs; on a machine with other work a test may take long.
  test: { include: ["src/**/*.test.ts"], environment: "node", testTimeout: 120_000 },
}));

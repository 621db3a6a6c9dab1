// Bundles the modules into a few files, which load faster than hundreds.
import { chmodSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { build, stop } from "esbuild";
import { convertChunks } from "./chunk-modules.mjs";
import { indexImports } from "./index-imports.mjs";

/** Writes to dist/: keelson.js (the program), index.js (the package), testing-kit.js (`keelson/testing`). */
export async function bundle(root) {
  const dist = path.join(root, "dist");
  const entries = ["keelson.js", "index.js", "testing-kit.js", "envtest-etcd.js"];
  for (const name of [...entries, "load-chunk.js", "chunks", "cache"]) {
    rmSync(path.join(dist, name), { recursive: true, force: true });
  }
  await build({
    absWorkingDir: root,
    entryPoints: {
      keelson: "cmd/keelson/main.ts",
      index: "cmd/keelson/index.ts",
      "envtest-etcd": "cmd/envtest/etcd-main.ts",
      "testing-kit": "cmd/keelson/testing-kit.ts",
    },
    outdir: "dist",
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    conditions: ["source"],
    plugins: [indexImports(root), lazyBuiltins, fewMediaTypes],
    // Packages with native addons or data files, and optional ones that are loaded on demand.
    external: [
      "lmdb",
      "etcd3",
      "cockatiel",
      "@grpc/grpc-js",
      "@noble/ciphers",
      "@opentelemetry/core",
      "@opentelemetry/exporter-trace-otlp-grpc",
      "@opentelemetry/resources",
      "@opentelemetry/sdk-trace-base",
    ],
    sourcemap: "inline",
    logLevel: "warning",
  });
  await build({
    absWorkingDir: root,
    entryPoints: ["cmd/keelson/load-chunk.ts"],
    outdir: "dist",
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    minifyWhitespace: true,
    logLevel: "warning",
  });
  await convertChunks(dist, entries);
  // Ends esbuild's child process, which would otherwise run as long as `npm start`.
  await stop();
  chmodSync(path.join(dist, "keelson.js"), 0o755);
}

/**
 * Replaces imports of node:http and node:crypto by require(). An import evaluates all exports, among them
 * getters that load more modules: `WebSocket` loads undici, `webcrypto` the Web Crypto API.
 */
const lazyBuiltins = {
  name: "lazy-builtins",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?(http|crypto)$/ }, ({ path: name, kind }) => {
      if (kind !== "import-statement") return undefined;
      return { path: name.replace("node:", ""), namespace: "lazy-builtin" };
    });
    onLoad({ filter: /.*/, namespace: "lazy-builtin" }, ({ path: name }) => ({
      contents: `module.exports = require("node:${name}");`,
    }));
  },
};

/** Media types that Koa may look up; the server sets others itself. */
const mediaTypes = ["application/json", "application/octet-stream", "text/html", "text/plain"];

/** Reduces the JSON of mime-db, whose evaluation takes 10 ms for each of its three importers. */
export const fewMediaTypes = {
  name: "few-media-types",
  setup({ onLoad }) {
    onLoad({ filter: /mime-db\/db\.json$/ }, ({ path: file }) => {
      const database = JSON.parse(readFileSync(file, "utf8"));
      const reduced = Object.fromEntries(mediaTypes.map((type) => [type, database[type]]));
      return { contents: JSON.stringify(reduced), loader: "json" };
    });
  },
};

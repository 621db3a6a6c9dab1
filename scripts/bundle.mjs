// Bundles hundreds of modules into a few files, which makes the start fast.
import { chmodSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { build, stop } from "esbuild";
import { convertChunks } from "./chunk-modules.mjs";
import { indexImports } from "./index-imports.mjs";

/** Writes dist/keelson.js (the program), dist/index.js (the package) and dist/testing-kit.js (`keelson/testing`). */
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
    // Packages with native parts or files of their own, and those that only some starts load.
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
  // `npm start` is long-running, and would keep the compiler's process.
  await stop();
  chmodSync(path.join(dist, "keelson.js"), 0o755);
}

/**
 * An import of these modules of Node reads all their exports, some of which are getters that load more:
 * `WebSocket` of node:http loads undici, `webcrypto` of node:crypto the Web Crypto API. require() does not.
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

/** Types that Koa itself may send; the server sets its own. The whole list takes 10 ms to evaluate, three times. */
const mediaTypes = ["application/json", "application/octet-stream", "text/html", "text/plain"];

export const fewMediaTypes = {
  name: "few-media-types",
  setup({ onLoad }) {
    onLoad({ filter: /mime-db\/db\.json$/ }, ({ path: file }) => {
      const all = JSON.parse(readFileSync(file, "utf8"));
      const few = Object.fromEntries(mediaTypes.map((type) => [type, all[type]]));
      return { contents: JSON.stringify(few), loader: "json" };
    });
  },
};

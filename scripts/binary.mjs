// `npm run build:binary [-- --arch=ARCH]`: builds a single executable of Node and the program.
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { parseArgs } from "node:util";
import { withElfNote } from "./elf-note.mjs";
import { fetchLockedFile } from "./locked-package.mjs";
import { pinnedNode } from "./runtime.mjs";
import { ensureInstalled, root, run } from "./setup.mjs";

ensureInstalled();
// Dynamic imports, since these need the installed dependencies.
const { build, stop } = await import("esbuild");
const { fewMediaTypes } = await import("./bundle.mjs");

const { platform } = process;
const { values } = parseArgs({ options: { arch: { type: "string", default: process.arch } } });
const { arch } = values;
/** Whether the executable is for another processor than this one. */
const isForeign = arch !== process.arch;
const isSupported = (name) => name === "x64" || name === "arm64";
if (platform !== "linux" || !isSupported(process.arch) || !isSupported(arch)) {
  console.error(
    `keelson: no single executable is made for ${platform}-${arch}; Linux on x64 or arm64 is needed`,
  );
  process.exit(1);
}

/** Bundles the program as one CommonJS file, as single executable applications (SEA) of Node require. */
async function bundleProgram(outfile) {
  await build({
    absWorkingDir: root,
    entryPoints: ["cmd/keelson/main.ts"],
    outfile,
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node24",
    conditions: ["source"],
    minifyWhitespace: true,
    define: { "import.meta.url": "keelsonUrl" },
    // import() does not work in code that is loaded from a code cache.
    supported: { "dynamic-import": false },
    banner: { js: prologue },
    plugins: [embeddedFiles, fewMediaTypes],
    logLevel: "warning",
  });
  await stop();
}

/** Defines the program's URL, and removes the program's second path in the arguments of child processes. */
const prologue = [
  'const keelsonUrl = require("node:url").pathToFileURL(process.execPath).href;',
  "if (process.argv[2] === process.execPath) process.argv.splice(2, 1);",
].join("\n");

/** Embeds files that packages read from their folders: etcd3's rpc.proto and lmdb's native addon. */
const embeddedFiles = {
  name: "embedded files",
  setup(builder) {
    builder.onLoad({ filter: /etcd3\/lib\/connection-pool\.js$/ }, ({ path: file }) => {
      const loader = createRequire(file).resolve("@grpc/proto-loader");
      const definitions = new (createRequire(loader)("protobufjs").Root)().loadSync(
        path.join(path.dirname(file), "../proto/rpc.proto"),
        { keepCase: true },
      );
      const json = JSON.stringify(definitions.toJSON());
      const source = readFileSync(file, "utf8");
      const load = "loadSync)(`${__dirname}/../proto/rpc.proto`,";
      if (!source.includes(load)) throw new Error(`etcd3 has changed: ${load} is missing`);
      return { contents: source.replace(load, () => `fromJSON)(${json},`), loader: "js" };
    });
    builder.onResolve({ filter: /^node-gyp-build-optional-packages$/ }, () => ({
      path: "native",
      namespace: "embedded",
    }));
    builder.onLoad({ filter: /.*/, namespace: "embedded" }, () => ({
      contents: loadNative,
      loader: "js",
      resolveDir: root,
    }));
  },
};

/** Loads lmdb's native addon: writes it to a temporary directory, calls dlopen, and removes it. */
const loadNative = `
const { mkdtempSync, rmSync, writeFileSync } = require("node:fs");
const path = require("node:path");
module.exports = () => {
  const folder = mkdtempSync(path.join(require("node:os").tmpdir(), "keelson-"));
  try {
    const file = path.join(folder, "lmdb.node");
    writeFileSync(file, new Uint8Array(require("node:sea").getRawAsset("lmdb.node")));
    const native = { exports: {} };
    process.dlopen(native, file);
    return native.exports;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
`;

/** The SEA blob of the program and its assets, made by `node`. */
function seaBlob(node) {
  const configuration = {
    main: "keelson.cjs",
    output: "keelson.blob",
    disableExperimentalSEAWarning: true,
    // A code cache is valid only on the processor that made it.
    useCodeCache: !isForeign,
    execArgvExtension: "none",
    assets: { "lmdb.node": nativeLmdb() },
  };
  writeFileSync(path.join(work, "sea.json"), JSON.stringify(configuration));
  // The fixed seed makes builds of the code cache reproducible.
  const args = ["--random-seed=1", "--experimental-sea-config", "sea.json"];
  run(node, args, { cwd: work, stdio: ["ignore", "ignore", "inherit"] });
  return readFileSync(path.join(work, "keelson.blob"));
}

function nativeLmdb() {
  const name = `@lmdb/lmdb-linux-${arch}`;
  const file = "node.napi.glibc.node";
  if (!isForeign) return path.join(root, "node_modules", name, file);
  return fetchLockedFile(path.join(root, "package-lock.json"), name, file, work);
}

/** The Node binary for the executable: the pinned version for the target processor. */
function targetNode(node) {
  if (!isForeign) return node;
  const lockFile = path.join(root, "scripts", "runtime", "package-lock.json");
  return fetchLockedFile(lockFile, `node-linux-${arch}`, "bin/node", work);
}

/** The Node binary with the blob, and with the fuse set that makes Node run the blob. */
function executable(node, blob) {
  const image = readFileSync(node);
  const fuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:";
  const offset = image.indexOf(fuse);
  if (offset < 0) throw new Error("this Node does not support single executable applications");
  image[offset + fuse.length] = "1".charCodeAt(0);
  return withElfNote(image, "NODE_SEA_BLOB", blob);
}

const node = pinnedNode();
const directory = path.join(root, "dist", "binary");
const work = path.join(directory, arch);
const output = path.join(directory, isForeign ? `keelson-${platform}-${arch}` : "keelson");
rmSync(work, { recursive: true, force: true });
mkdirSync(work, { recursive: true });
await bundleProgram(path.join(work, "keelson.cjs"));
writeFileSync(output, executable(targetNode(node), seaBlob(node)));
chmodSync(output, 0o755);
const { size } = statSync(output);
const name = path.relative(root, output);
console.error(`keelson: ${name}, ${(size / 1e6).toFixed(1)} MB, needs no Node`);

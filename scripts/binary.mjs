// `npm run build:binary`: one executable of Node and the program, for this processor or, with --arch, for another one.
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { parseArgs } from "node:util";
import { withElfNote } from "./elf-note.mjs";
import { fetchLockedFile } from "./locked-package.mjs";
import { pinnedNode } from "./runtime.mjs";
import { ensureInstalled, root, run } from "./setup.mjs";

ensureInstalled();
// These need what has been installed.
const { build, stop } = await import("esbuild");
const { fewMediaTypes } = await import("./bundle.mjs");

const { platform } = process;
const { values } = parseArgs({ options: { arch: { type: "string", default: process.arch } } });
const { arch } = values;
/** Whether the executable is for another processor, and cannot run here. */
const isForeign = arch !== process.arch;
if (platform !== "linux" || ![process.arch, arch].every((one) => ["x64", "arm64"].includes(one))) {
  console.error(
    `keelson: no single executable is made for ${platform}-${arch}; Linux on x64 or arm64 is needed`,
  );
  process.exit(1);
}

/** Bundles one CommonJS file, which Node's single executables require. */
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
    // Code from a code cache has no import().
    supported: { "dynamic-import": false },
    banner: { js: prologue },
    plugins: [embeddedFiles, fewMediaTypes],
    logLevel: "warning",
  });
  await stop();
}

/** The place of the program, and the arguments of worker processes, which have its path twice. */
const prologue = [
  'const keelsonUrl = require("node:url").pathToFileURL(process.execPath).href;',
  "if (process.argv[2] === process.execPath) process.argv.splice(2, 1);",
].join("\n");

/** Packages that read files of theirs find them in the executable. */
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
      const text = replaced(readFileSync(file, "utf8"), [
        ["loadSync)(`${__dirname}/../proto/rpc.proto`,", `fromJSON)(${json},`],
      ]);
      return { contents: text, loader: "js" };
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

/** The native part of lmdb is written to a directory of this process, loaded, and removed. */
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

function replaced(text, pairs) {
  for (const [from, to] of pairs) {
    if (!text.includes(from)) throw new Error(`a package has changed: ${from} is not there`);
    text = text.replace(from, () => to);
  }
  return text;
}

/** The blob of the program and its assets, in the format of Node's own tool. */
function seaBlob(node) {
  const configuration = {
    main: "keelson.cjs",
    output: "keelson.blob",
    disableExperimentalSEAWarning: true,
    // A code cache fits the processor only that it was made on.
    useCodeCache: !isForeign,
    execArgvExtension: "none",
    assets: { "lmdb.node": nativeLmdb() },
  };
  writeFileSync(path.join(work, "sea.json"), JSON.stringify(configuration));
  // With a seed the code cache is the same in every build.
  const words = ["--random-seed=1", "--experimental-sea-config", "sea.json"];
  run(node, words, { cwd: work, stdio: ["ignore", "ignore", "inherit"] });
  return readFileSync(path.join(work, "keelson.blob"));
}

function nativeLmdb() {
  const name = `@lmdb/lmdb-linux-${arch}`;
  const file = "node.napi.glibc.node";
  if (!isForeign) return path.join(root, "node_modules", name, file);
  return fetchLockedFile(path.join(root, "package-lock.json"), name, file, work);
}

/** The Node of the executable: the pinned one, for its processor. */
function targetNode(node) {
  if (!isForeign) return node;
  const lockFile = path.join(root, "scripts", "runtime", "package-lock.json");
  return fetchLockedFile(lockFile, `node-linux-${arch}`, "bin/node", work);
}

/** Node with the blob, and with the fuse that makes it look for the blob. */
function executable(node, blob) {
  const image = readFileSync(node);
  const fuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:";
  const at = image.indexOf(fuse);
  if (at < 0) throw new Error("this Node cannot be made a single executable");
  image[at + fuse.length] = "1".charCodeAt(0);
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

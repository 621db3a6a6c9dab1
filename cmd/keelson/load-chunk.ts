/** Loads the CommonJS modules of the bundle and caches their compiled code on disk. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { cachedDataVersionTag } from "node:v8";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";
import { cacheFolder, cacheFolders, isCodeCached } from "./code-cache.ts";

interface Chunk {
  readonly script: Script;
  /** Name of the file of compiled code. */
  readonly compiled: string;
  /** Size in bytes of the compiled code that was read at start; 0 = none that V8 accepts. */
  readonly found: number;
  exports: unknown;
}

const bundle = path.dirname(fileURLToPath(import.meta.url));
/** V8 accepts compiled code only from the same version, flags and processor. */
const tag = cachedDataVersionTag();
const version = `${process.version}-${tag.toString(16)}`;
const loaded = new Map<string, Chunk>();
const wrapperStart = "(function (require, module, chunkUrl) {";

/**
 * Loads a chunk once. Its path is relative to the bundle. Unlike Node's compile cache, the compiled
 * code is written when the process exits, so that it includes functions that V8 compiled when they
 * were first called.
 */
export function loadChunk(name: string): unknown {
  return load(path.join(bundle, name));
}

function load(file: string): unknown {
  const known = loaded.get(file);
  if (known !== undefined) return known.exports;
  const compiled = `${path.basename(file)}.code`;
  const cachedData = isCodeCached ? readCompiled(compiled) : undefined;
  // esbuild escapes all non-ASCII characters.
  const source = `${wrapperStart}${readFileSync(file, "latin1")}\n})`;
  const script = new Script(source, { filename: file, cachedData });
  const found = script.cachedDataRejected ? 0 : (cachedData?.length ?? 0);
  const chunk: Chunk = { script, compiled, found, exports: undefined };
  loaded.set(file, chunk);
  if (isCodeCached && found === 0) keepAtExit();
  const requireOther = createRequire(file);
  const isChunk = (other: string) => other.startsWith("./") && other.endsWith(".cjs");
  const require = Object.assign((other: string) => {
    return isChunk(other) ? load(path.resolve(path.dirname(file), other)) : requireOther(other);
  }, requireOther);
  const module = { exports: {} };
  script.runInThisContext()(require, module, pathToFileURL(file).href);
  chunk.exports = module.exports;
  return chunk.exports;
}

let isKept = true;

function keepAtExit(): void {
  if (isKept) process.once("exit", keepCompiled);
  isKept = false;
}

/**
 * Writes the compiled code of each chunk that is larger than what was read: `keelson help` leaves
 * chunks that it shares with servers without the functions that only a server calls, and the first
 * server, which lacks other chunks, adds them. A process that found code for all its chunks writes
 * nothing.
 */
function keepCompiled(): void {
  // If V8 flags changed since the start, no later start would accept the code.
  if (cachedDataVersionTag() !== tag) return;
  try {
    const folder = path.join(cacheFolder(bundle), version);
    mkdirSync(folder, { recursive: true });
    for (const { script, compiled, found } of loaded.values()) {
      const code = script.createCachedData();
      if (code.length <= found) continue;
      const file = path.join(folder, compiled);
      // Written to a temporary file, because other processes may read and write the same file.
      const written = `${file}.${process.pid}`;
      writeFileSync(written, withChecksum(code), { mode: 0o644 });
      renameSync(written, file);
    }
  } catch (error) {
    // Without a writable directory, programs start as they do without a cache.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  }
}

/** V8 does not detect damaged code, which would crash the process. */
const checksumBytes = 4;

function withChecksum(compiled: Buffer): Buffer {
  const checksum = Buffer.alloc(checksumBytes);
  checksum.writeUInt32LE(crc32(compiled));
  return Buffer.concat([compiled, checksum]);
}

/** Code cache written by another process; undefined if it is absent or incomplete. */
function readCompiled(name: string): Buffer | undefined {
  for (const folder of cacheFolders(bundle)) {
    const content = readIfThere(path.join(folder, version, name));
    if (content === undefined || content.length < checksumBytes) continue;
    const compiled = content.subarray(0, -checksumBytes);
    if (crc32(compiled) === content.readUInt32LE(compiled.length)) return compiled;
  }
  return undefined;
}

function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

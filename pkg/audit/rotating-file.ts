import { createReadStream, createWriteStream } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Clock } from "#base";
import type { LineSink } from "./log.ts";

export interface RotationOptions {
  /** Maximum file size in bytes before rotation; 0 = 100 MiB. */
  readonly maxBytes: number;
  /** Maximum age of rotated files in days; 0 = unlimited. */
  readonly maxAgeDays: number;
  /** Maximum number of rotated files; 0 = unlimited. */
  readonly maxBackups: number;
  /** Whether to gzip rotated files. */
  readonly compress: boolean;
}

interface RotationParts {
  readonly clock: Clock;
  /** Called with errors of compressing and removing rotated files. */
  readonly onError: (error: unknown) => void;
}

const defaultBytes = 100 * 1024 * 1024;
const dayMs = 86_400_000;
/** Maximum number of bytes per write call. */
const maxWriteBytes = 4 * 1024 * 1024;

/** Lines that wait to be written. */
interface PendingWrite {
  readonly lines: Buffer;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A log file with rotation. Rotated files are named `audit-2026-01-02T03-04-05.678.log`, like those of
 * kube-apiserver (lumberjack). Lines that arrive during a write are written together.
 */
export class RotatingFile implements LineSink {
  private pending: PendingWrite[] = [];
  private isWriting = false;
  /** Resolves when all pending lines are written. */
  private written: Promise<void> = Promise.resolve();
  private cleanup: Promise<void> = Promise.resolve();
  private size: number;

  private constructor(
    private readonly file: string,
    private readonly options: RotationOptions,
    private readonly parts: RotationParts & { handle: FileHandle; readonly size: number },
  ) {
    this.size = parts.size;
  }

  /** Opens the file; creates it and its folder if missing. @throws file system errors */
  static async open(
    file: string,
    options: RotationOptions,
    parts: RotationParts,
  ): Promise<RotatingFile> {
    await mkdir(path.dirname(file), { recursive: true });
    const handle = await openLog(file);
    const { size } = await handle.stat();
    return new RotatingFile(file, options, { ...parts, handle, size });
  }

  append(lines: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.pending.push({ lines, resolve, reject });
      if (!this.isWriting) this.written = this.writeAll();
    });
  }

  async close(): Promise<void> {
    await this.written;
    await this.cleanup;
    await this.parts.handle.close();
  }

  /** Writes pending lines in batches; rotates the file when it is full. */
  private async writeAll(): Promise<void> {
    this.isWriting = true;
    while (this.pending.length > 0) {
      try {
        if (this.size > 0 && this.size + this.pending[0]!.lines.byteLength > this.maxBytes) {
          await this.rotate();
        }
      } catch (error) {
        this.pending.shift()!.reject(error);
        continue;
      }
      const batch = this.take();
      const bytes = batch.length === 1 ? batch[0]!.lines : Buffer.concat(batch.map(linesOf));
      try {
        await this.parts.handle.appendFile(bytes);
        this.size += bytes.byteLength;
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
        // Removes a partly written line.
        await this.parts.handle.truncate(this.size).catch(this.parts.onError);
      }
    }
    this.isWriting = false;
  }

  private get maxBytes(): number {
    return this.options.maxBytes || defaultBytes;
  }

  /** Takes the waiting lines that fit into the file, at least one. */
  private take(): readonly PendingWrite[] {
    const maxBatchBytes = Math.min(this.maxBytes - this.size, maxWriteBytes);
    let bytes = 0;
    let count = 0;
    for (const { lines } of this.pending) {
      bytes += lines.byteLength;
      if (count > 0 && bytes > maxBatchBytes) break;
      count++;
    }
    return this.pending.splice(0, count);
  }

  /** Renames the file to a backup name and opens a new one. */
  private async rotate(): Promise<void> {
    const { parts, file } = this;
    await rename(file, await this.nextBackupName());
    const handle = await openLog(file);
    await parts.handle.close();
    parts.handle = handle;
    this.size = 0;
    this.cleanup = this.cleanup.then(() => this.cleanUp()).catch(parts.onError);
  }

  /** Name of the next backup: its time, or one millisecond after that of the newest if that is later. */
  private async nextBackupName(): Promise<string> {
    const [newest] = await this.backups();
    const time = Math.max(this.parts.clock.now(), (newest?.time ?? 0) + 1);
    const { dir, name, ext } = path.parse(this.file);
    return path.join(dir, `${name}-${stamp(time)}${ext}`);
  }

  /** Removes rotated files that are too many or too old, and compresses others. */
  private async cleanUp(): Promise<void> {
    const { maxAgeDays, maxBackups, compress } = this.options;
    const minTime = maxAgeDays === 0 ? -Infinity : this.parts.clock.now() - maxAgeDays * dayMs;
    const backups = await this.backups();
    for (const [index, { file, time }] of backups.entries()) {
      const isTooMany = maxBackups > 0 && index >= maxBackups;
      if (isTooMany || time < minTime) await rm(file, { force: true });
      else if (compress && !file.endsWith(compressed)) await compressFile(file);
    }
  }

  /** Rotated files, newest first. */
  private async backups(): Promise<readonly { readonly file: string; readonly time: number }[]> {
    const { dir, name, ext } = path.parse(this.file);
    const found: { file: string; time: number }[] = [];
    for (const entry of await readdir(dir === "" ? "." : dir)) {
      const plain = entry.endsWith(compressed) ? entry.slice(0, -compressed.length) : entry;
      if (!plain.startsWith(`${name}-`) || !plain.endsWith(ext)) continue;
      const time = timeOf(plain.slice(name.length + 1, plain.length - ext.length));
      if (time !== undefined) found.push({ file: path.join(dir, entry), time });
    }
    return found.sort((a, b) => b.time - a.time);
  }
}

const compressed = ".gz";

function linesOf({ lines }: PendingWrite): Buffer {
  return lines;
}

/** Opens the log with permissions for its owner only. */
function openLog(file: string): Promise<FileHandle> {
  return open(file, "a", 0o600);
}

/** Formats a time for backup names: `2026-01-02T03-04-05.678`. */
function stamp(time: number): string {
  return new Date(time).toISOString().slice(0, -1).replaceAll(":", "-");
}

function timeOf(text: string): number | undefined {
  const match = /^(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(text);
  if (match === null) return undefined;
  const time = Date.parse(`${match[1]}${match[2]}:${match[3]}:${match[4]}Z`);
  return Number.isNaN(time) ? undefined : time;
}

async function compressFile(file: string): Promise<void> {
  const target = `${file}${compressed}`;
  const output = createWriteStream(target, { mode: 0o600 });
  await pipeline(createReadStream(file), createGzip(), output);
  await rm(file, { force: true });
}

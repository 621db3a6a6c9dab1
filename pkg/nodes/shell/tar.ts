/** Archives of `tar`, as `kubectl cp` sends and expects them: ustar with extended headers. */
import { posix } from "node:path";
import type { ContainerFiles, FileEntry } from "./container-files.ts";

const blockBytes = 512;
/** Maximum size of a file and of an extended header, in bytes. */
const maxFileBytes = 8 << 20;
const maxExtensionBytes = 65_536;

interface Header {
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly mode: number;
  readonly link: string;
}

/** Extracts an archive that arrives in pieces into a folder. */
export class TarReader {
  private pending: Buffer = Buffer.alloc(0);
  private header: Header | undefined;
  /** Names of the next entry, from an extended header. */
  private extended: { path?: string; linkpath?: string } = {};
  isEnded = false;

  constructor(
    private readonly files: ContainerFiles,
    private readonly folder: string,
  ) {}

  /** @throws Error for a malformed archive, or one that exceeds the limits */
  write(data: Buffer): void {
    if (this.isEnded) return;
    this.pending = Buffer.concat([this.pending, data]);
    while (!this.isEnded && this.step());
  }

  /** Handles one header or one entry. False = more bytes are needed. */
  private step(): boolean {
    if (this.header === undefined) {
      if (this.pending.length < blockBytes) return false;
      const block = this.take(blockBytes);
      if (block.every((byte) => byte === 0)) this.isEnded = true;
      else this.header = headerOf(block);
      return true;
    }
    const { size, type } = this.header;
    const bound = "xgLK".includes(type) ? maxExtensionBytes : maxFileBytes;
    if (size > bound) throw new Error("file is too large for a simulated container");
    const padded = Math.ceil(size / blockBytes) * blockBytes;
    if (this.pending.length < padded) return false;
    const data = this.take(padded).subarray(0, size);
    this.entry(this.header, data);
    this.header = undefined;
    return true;
  }

  private take(bytes: number): Buffer {
    const taken = this.pending.subarray(0, bytes);
    this.pending = this.pending.subarray(bytes);
    return taken;
  }

  private entry({ name, type, mode, link }: Header, data: Buffer): void {
    const text = () => data.toString().replace(/\0+$/, "");
    if (type === "L") return void (this.extended.path = text());
    if (type === "K") return void (this.extended.linkpath = text());
    if (type === "x") return void Object.assign(this.extended, recordsOf(data));
    if (type === "g") return;
    const { path = name, linkpath = link } = this.extended;
    this.extended = {};
    // Names need no check for path traversal: a simulated container has no other files.
    const at = posix.join(this.folder, posix.resolve("/", path));
    if (type === "5") this.files.makeFolder(at, mode);
    else if (type === "2") this.files.makeLink(at, linkpath);
    else if (type === "0" || type === "\0" || type === "7") this.files.writeFile(at, data, mode);
  }
}

function headerOf(block: Buffer): Header {
  const text = (from: number, length: number) => {
    const field = block.subarray(from, from + length);
    const end = field.indexOf(0);
    return field.subarray(0, end < 0 ? length : end).toString();
  };
  const octal = (from: number, length: number) => {
    const digits = text(from, length).trim();
    if (!/^[0-7]*$/.test(digits)) throw new Error("this does not look like a tar archive");
    return Number.parseInt(digits || "0", 8);
  };
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
  if (octal(148, 8) !== sum) throw new Error("this does not look like a tar archive");
  const prefix = text(257, 5) === "ustar" && text(257, 8) !== "ustar  " ? text(345, 155) : "";
  const name = text(0, 100);
  return {
    name: prefix === "" ? name : `${prefix}/${name}`,
    type: String.fromCharCode(block[156]!),
    size: octal(124, 12),
    mode: octal(100, 8) & 0o7777,
    link: text(157, 100),
  };
}

/** `path` and `linkpath` of an extended header: records of the form `LENGTH NAME=VALUE\n`. */
function recordsOf(data: Buffer): { path?: string; linkpath?: string } {
  const found: { path?: string; linkpath?: string } = {};
  for (let at = 0; at < data.length;) {
    const blank = data.indexOf(32, at);
    const length = Number(data.subarray(at, Math.max(at, blank)).toString());
    if (blank < 0 || !Number.isInteger(length) || length <= blank - at) {
      throw new Error("malformed extended header");
    }
    const record = data.subarray(blank + 1, at + length - 1).toString();
    const equals = record.indexOf("=");
    const name = record.slice(0, equals);
    if (name === "path" || name === "linkpath") found[name] = record.slice(equals + 1);
    at += length;
  }
  return found;
}

/** Creates an archive of the entries at and below a path; their names in it start with `name`. */
export function tarOf(files: ContainerFiles, path: string, name: string): Buffer {
  const top = posix.resolve("/", path);
  const parts = files.tree(top).flatMap(([each, entry]) => {
    const inside = posix.join(name, posix.relative(top, each));
    const shown = entry.kind === "directory" ? `${inside.replace(/\/$/, "")}/` : inside;
    return [...headersFor(shown, entry), entry.data, padding(entry.data.length)];
  });
  return Buffer.concat(parts);
}

/** End of an archive: two empty blocks. */
export const tarEnd = Buffer.alloc(2 * blockBytes);

function padding(length: number): Buffer {
  return Buffer.alloc((blockBytes - (length % blockBytes)) % blockBytes);
}

/** The header of an entry, preceded by an extended one if its names are too long. */
function headersFor(name: string, entry: FileEntry): readonly Buffer[] {
  const tooLong = (text: string) => Buffer.byteLength(text) > 100;
  const records = [
    ...(tooLong(name) ? [recordText("path", name)] : []),
    ...(tooLong(entry.target) ? [recordText("linkpath", entry.target)] : []),
  ];
  const type = { file: "0", directory: "5", link: "2" }[entry.kind];
  const own = headerBlock({ ...entry, name, type, size: entry.data.length });
  if (records.length === 0) return [own];
  const data = Buffer.from(records.join(""));
  const extension = { ...entry, name: "PaxHeader", target: "", type: "x", size: data.length };
  return [headerBlock(extension), data, padding(data.length), own];
}

function recordText(name: string, value: string): string {
  const rest = ` ${name}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  // The length counts its own digits.
  let length = bytes + String(bytes).length;
  length = bytes + String(length).length;
  return `${length}${rest}`;
}

interface HeaderInput extends Pick<FileEntry, "mode" | "modifiedAt" | "target"> {
  readonly name: string;
  readonly type: string;
  readonly size: number;
}

function headerBlock({ name, type, size, mode, modifiedAt, target }: HeaderInput): Buffer {
  const block = Buffer.alloc(blockBytes);
  const octal = (value: number, at: number, length: number) =>
    block.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at);
  Buffer.from(name).copy(block, 0, 0, 100);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(modifiedAt, 136, 12);
  block.write(" ".repeat(8), 148);
  block.write(type, 156);
  Buffer.from(target).copy(block, 157, 0, 100);
  block.write("ustar\x0000", 257);
  block.write("root", 265);
  block.write("root", 297);
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return block;
}

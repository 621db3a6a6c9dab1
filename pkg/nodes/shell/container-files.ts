/** In-memory file systems of simulated containers, e.g. for `kubectl cp`. */
import { posix } from "node:path";
import { NotSimulated } from "./not-simulated.ts";

export interface FileEntry {
  readonly kind: "file" | "directory" | "link";
  readonly data: Uint8Array;
  /** Target of a link. */
  readonly target: string;
  readonly mode: number;
  /** Seconds since 1970. */
  readonly modifiedAt: number;
}

/** A file that exists before a container starts: a text, or bytes with a mode. */
export type InitialFile = string | { readonly data: Uint8Array; readonly mode: number };

/** Files that every container has. */
export const imageFiles: Readonly<Record<string, InitialFile>> = {
  "/etc/os-release": 'ID=simulated\nPRETTY_NAME="Simulated by Keelson: no image runs"\n',
};

/** Limits of one file system and of all of them together. */
const maxEntries = 4_096;
const maxBytes = 8 << 20;
const maxTotalBytes = 64 << 20;
const maxFileSystems = 1_000;
/** Bytes that an entry costs in addition to its data and path. */
const entryBytes = 128;
const maxPathLength = 4_096;

/** Error of a file operation, with the C library's message. */
export class FileFault extends Error {}

export class ContainerFiles {
  private readonly entries = new Map<string, FileEntry>();
  private bytes = 0;

  constructor(
    initial: Readonly<Record<string, InitialFile>>,
    private readonly now: () => number,
    /**
     * Reserves bytes of the limit of all file systems, or releases them if negative; false = the
     * limit is reached.
     */
    private readonly reserve: (bytes: number) => boolean,
    /** Folders with unknown contents. */
    private readonly unknown: readonly string[] = [],
  ) {
    for (const folder of ["/", "/tmp", "/etc", "/root"]) this.makeFolder(folder);
    for (const [path, file] of Object.entries(initial)) {
      if (typeof file === "string") this.writeFile(path, Buffer.from(file));
      else this.writeFile(path, file.data, file.mode);
    }
  }

  get size(): number {
    return this.bytes;
  }

  /** @throws NotSimulated for files in an unknown folder */
  get(path: string): FileEntry | undefined {
    const at = absolute(path);
    this.refuseUnknown(at);
    return this.entries.get(at);
  }

  /** Entries at and below a path, in the order of their paths. */
  tree(path: string): readonly (readonly [string, FileEntry])[] {
    const top = absolute(path);
    const below = top === "/" ? "/" : `${top}/`;
    return [...this.entries]
      .filter(([each]) => each === top || each.startsWith(below))
      .sort(([left], [right]) => (left < right ? -1 : 1));
  }

  /** Names in a folder. */
  names(path: string): readonly string[] {
    const top = absolute(path);
    return this.tree(top)
      .map(([each]) => each)
      .filter((each) => each !== top && posix.dirname(each) === top)
      .map((each) => posix.basename(each));
  }

  /** Creates missing parent folders. @throws FileFault */
  writeFile(path: string, data: Uint8Array, mode = 0o644): void {
    this.set(path, { kind: "file", data, target: "", mode });
  }

  makeFolder(path: string, mode = 0o755): void {
    if (this.get(path)?.kind !== "directory") {
      this.set(path, { kind: "directory", data: new Uint8Array(), target: "", mode });
    }
  }

  makeLink(path: string, target: string): void {
    if (target.length > maxPathLength) throw new FileFault("File name too long");
    this.set(path, { kind: "link", data: new Uint8Array(), target, mode: 0o777 });
  }

  remove(path: string): void {
    for (const [each] of this.tree(path)) {
      if (each !== "/") this.drop(each);
    }
  }

  /** Deletes all entries and releases their bytes. */
  clear(): void {
    for (const path of this.entries.keys()) this.drop(path);
  }

  private set(path: string, entry: Omit<FileEntry, "modifiedAt">): void {
    const at = absolute(path);
    this.refuseUnknown(at);
    if (at.length > maxPathLength) throw new FileFault("File name too long");
    const old = this.entries.get(at);
    if (old?.kind === "directory" && entry.kind !== "directory") {
      throw new FileFault("Is a directory");
    }
    const parent = posix.dirname(at);
    if (parent !== at) {
      const above = this.entries.get(parent);
      if (above !== undefined && above.kind !== "directory") throw new FileFault("Not a directory");
      if (above === undefined) this.makeFolder(parent);
    }
    const added = costOf(at, entry) - (old === undefined ? 0 : costOf(at, old));
    const isFull = this.bytes + added > maxBytes || this.entries.size >= maxEntries;
    if ((isFull && added > 0) || !this.reserve(added)) {
      throw new FileFault("No space left on device");
    }
    this.bytes += added;
    const modifiedAt = Math.floor(this.now() / 1000);
    this.entries.set(at, { ...entry, data: Uint8Array.from(entry.data), modifiedAt });
  }

  private refuseUnknown(path: string): void {
    const folder = this.unknown.find((each) => path === each || path.startsWith(`${each}/`));
    if (folder !== undefined) throw new NotSimulated(`the content of ${folder}`);
  }

  private drop(path: string): void {
    const cost = costOf(path, this.entries.get(path)!);
    this.entries.delete(path);
    this.bytes -= cost;
    this.reserve(-cost);
  }
}

function costOf(path: string, { data, target }: Omit<FileEntry, "modifiedAt">): number {
  return entryBytes + path.length + target.length + data.length;
}

/** Normalizes a path: absolute, without `.` and `..`. */
export function absolute(path: string): string {
  return posix.resolve("/", path);
}

/** File systems of running containers, created lazily. */
export class FileSystems {
  private readonly byContainer = new Map<string, ContainerFiles>();
  private bytes = 0;

  constructor(private readonly now: () => number) {}

  /** The files of a container, if they have been created and not been deleted. */
  find(container: string): ContainerFiles | undefined {
    return this.byContainer.get(container);
  }

  /**
   * The files of a container by its ID. Before new ones are created, those of containers for which
   * `isAlive` is false are deleted, and the oldest beyond 1,000 containers.
   */
  of(
    container: string,
    initial: Readonly<Record<string, InitialFile>>,
    isAlive: (container: string) => boolean,
  ): ContainerFiles {
    const known = this.byContainer.get(container);
    if (known !== undefined) return known;
    for (const each of this.byContainer.keys()) {
      if (!isAlive(each)) this.forget(each);
    }
    const [oldest] = this.byContainer.keys();
    if (this.byContainer.size >= maxFileSystems && oldest !== undefined) this.forget(oldest);
    const files = new ContainerFiles(initial, this.now, (bytes) => this.reserve(bytes));
    this.byContainer.set(container, files);
    return files;
  }

  private reserve(bytes: number): boolean {
    if (bytes > 0 && this.bytes + bytes > maxTotalBytes) return false;
    this.bytes += bytes;
    return true;
  }

  /** Deletes the files of a container. */
  forget(container: string): void {
    this.byContainer.get(container)?.clear();
    this.byContainer.delete(container);
  }
}

import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseJsonText } from "#base";
import { StoreFault } from "../backend.ts";

/** Identifies a process beyond the reuse of its number, as far as the system tells. */
interface Owner {
  readonly pid: number;
  /** When it started, in the kernel's own count; "" where that cannot be known. */
  readonly started: string;
  /** Which run of the machine; "" where that cannot be known. */
  readonly boot: string;
}

/**
 * Claims a directory for this process, or throws StoreFault `unavailable` that names who has it. A
 * claim whose process is gone is void. This gives the clear message; two processes that claim at
 * the same instant, or cannot see each other, are kept apart by the journal's own sequence number.
 */
export function claimDirectory(directory: string): Disposable {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  keepPrivate(directory);
  const path = join(directory, "owner.json");
  const other = readOwner(path);
  if (other !== undefined && isAlive(other)) {
    const message = `${directory} is in use by process ${other.pid}`;
    throw new StoreFault({ kind: "unavailable", message, maybeApplied: false });
  }
  const self = describe(process.pid);
  writeFileSync(path, `${JSON.stringify(self)}\n`, { mode: 0o600 });
  return {
    [Symbol.dispose]() {
      const now = readOwner(path);
      if (now?.pid === self.pid && now.started === self.started) rmSync(path, { force: true });
    },
  };
}

/** A directory that was there before may be readable for others; the objects are not for them. */
function keepPrivate(directory: string): void {
  if ((statSync(directory).mode & 0o077) === 0) return;
  try {
    chmodSync(directory, 0o700);
  } catch (error) {
    // The directory of another user, say of a volume: the modes of the files protect them.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
}

function readOwner(path: string): Owner | undefined {
  try {
    const value: unknown = parseJsonText(readFileSync(path, "utf8"));
    const { pid, started, boot } = value as Owner;
    return Number.isInteger(pid) && pid > 0 ? { pid, started, boot } : undefined;
  } catch {
    return undefined; // absent, or torn by a power failure: no owner
  }
}

function isAlive(owner: Owner): boolean {
  const now = describe(owner.pid);
  if (now.boot !== owner.boot || now.started !== owner.started) return false;
  if (now.started !== "") return true;
  try {
    process.kill(owner.pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function describe(pid: number): Owner {
  return { pid, started: startOf(pid), boot: readText("/proc/sys/kernel/random/boot_id") };
}

/**
 * Field 22 of Linux' stat; the name before it may hold spaces. "gone" for a process that only waits
 * to be reaped.
 */
function startOf(pid: number): string {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === "") return readText("/proc/self/stat") === "" ? "" : "gone";
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" ? "gone" : (fields[19] ?? "");
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}

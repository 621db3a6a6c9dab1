import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseJsonText } from "#base";
import { StoreFault } from "../backend.ts";

/** Identifies a process even if its PID is reused. */
interface Owner {
  readonly pid: number;
  /** Start time in clock ticks since boot; "" where unknown. */
  readonly started: string;
  /** Boot id of the machine; "" where unknown. */
  readonly boot: string;
}

/**
 * Claims a directory for this process; the claim of a process that has exited is ignored. This yields a
 * clear error message; processes that claim concurrently, or in different containers, are excluded by
 * the sequence number of the journal.
 * @throws StoreFault `unavailable` with the PID of the owner
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

/** Removes permissions of other users from an existing directory, as objects contain secrets. */
function keepPrivate(directory: string): void {
  if ((statSync(directory).mode & 0o077) === 0) return;
  try {
    chmodSync(directory, 0o700);
  } catch (error) {
    // The directory has another owner, as a volume may: the modes of the files protect them.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
}

function readOwner(path: string): Owner | undefined {
  try {
    const value: unknown = parseJsonText(readFileSync(path, "utf8"));
    const { pid, started, boot } = value as Owner;
    return Number.isInteger(pid) && pid > 0 ? { pid, started, boot } : undefined;
  } catch {
    return undefined; // absent, or incomplete after a power failure
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
 * Start time of a process: field 22 of /proc/<pid>/stat, in which the name may contain spaces. "gone"
 * for a process that has exited or is a zombie.
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

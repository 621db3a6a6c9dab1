import type { AuditEvent } from "./event.ts";

/** An audit backend. */
export interface Backend {
  /**
   * Writes events. The promise resolves when they are written, and rejects if they are lost; undefined = the
   * backend has accepted them, and writes them later.
   */
  write(events: readonly AuditEvent[]): Promise<void> | undefined;
  /** Writes all accepted events and releases resources. */
  close(): Promise<void>;
}

/** Called with lost events, and the name of the backend. */
export type OnLoss = (plugin: string, error: unknown, count: number) => void;

/** Ignores write errors of a backend, which reports its losses itself. */
export function ignoringErrors(backend: Backend): Backend {
  return {
    write: (events) => backend.write(events)?.catch(() => undefined),
    close: () => backend.close(),
  };
}

/** Sends every event to all backends. */
export function unionBackend(backends: readonly Backend[]): Backend {
  const [only] = backends;
  if (only !== undefined && backends.length === 1) return only;
  return {
    write: (events) => {
      const writes = backends.flatMap((backend) => backend.write(events) ?? []);
      return writes.length === 0 ? undefined : Promise.all(writes).then(() => undefined);
    },
    close: async () => {
      await Promise.all(backends.map((backend) => backend.close()));
    },
  };
}

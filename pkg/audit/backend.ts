import type { AuditEvent } from "./event.ts";

/** A destination of audit events. */
export interface Backend {
  /**
   * Takes events. A promise resolves when they are kept and rejects when they are not; undefined
   * means that they are taken and nothing needs to be waited for.
   */
  write(events: readonly AuditEvent[]): Promise<void> | undefined;
  /** Keeps what it has taken and frees everything. */
  close(): Promise<void>;
}

/** Told of events that were lost, by the name of who lost them. */
export type OnLoss = (plugin: string, error: unknown, count: number) => void;

/** Ignores write errors of a backend, which reports its losses itself. */
export function ignoringErrors(backend: Backend): Backend {
  return {
    write: (events) => backend.write(events)?.catch(() => undefined),
    close: () => backend.close(),
  };
}

/** All of them get every event. */
export function unionBackend(backends: readonly Backend[]): Backend {
  const [only] = backends;
  if (only !== undefined && backends.length === 1) return only;
  return {
    write: (events) => {
      const waits = backends.flatMap((backend) => backend.write(events) ?? []);
      return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined);
    },
    close: async () => {
      await Promise.all(backends.map((backend) => backend.close()));
    },
  };
}

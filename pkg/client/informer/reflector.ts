import { type Clock, type Random, realClock } from "#base";
import { type Status, StatusError } from "#meta";
import type { ApiObject, Client, Handle, Selection, WatchEvent } from "../contract.ts";
import { Backoff } from "../rate-limits.ts";

/** Receives the objects of a collection, then every change exactly once, in order. */
export interface ReflectorSink<T extends ApiObject> {
  /** Called with all objects after the initial list and after every relist. */
  readonly replaced: (objects: readonly T[]) => void;
  readonly changed: (type: "ADDED" | "MODIFIED" | "DELETED", object: T) => void;
}

export interface ReflectorOptions<T extends ApiObject> {
  readonly client: Client;
  readonly resource: Handle<T>;
  readonly selection?: Selection;
  readonly sink: ReflectorSink<T>;
  /** Changes each object before the sink receives it; absent = objects are passed on as they are. */
  readonly transform?: (object: T) => T;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Called for failures that will be retried. */
  readonly report: (what: string, error: unknown) => void;
  /** Backoff after failures, with up to 100 % jitter. */
  readonly delays?: { readonly firstMs: number; readonly maxMs: number };
}

const pageSize = 500;
/** Minimum watch timeout; a random value between this and twice this spreads the watches of a process. */
const watchSeconds = 300;
const defaultDelays = { firstMs: 800, maxMs: 30_000 };
/** Duration in ms of a list and watch after which the backoff is reset. */
const backoffResetMs = 60_000;
/**
 * Status codes of servers that do not support `sendInitialEvents`; 500, in an ERROR event, is
 * kube-apiserver's on an etcd without progress notifications (before 3.4.25 and 3.5.8).
 */
const watchListUnsupported: ReadonlySet<number> = new Set([400, 403, 405, 422, 500]);

/**
 * Lists and watches a collection until the signal aborts: streams initial events if the server supports
 * them, else lists in pages, then watches. A broken watch resumes at the last resourceVersion; the
 * reflector relists only if that has expired.
 */
export async function reflect<T extends ApiObject>(options: ReflectorOptions<T>): Promise<void> {
  await new Reflector(options).run();
}

class Reflector<T extends ApiObject> {
  /** Last seen resourceVersion; undefined = a list is required. */
  private version: string | undefined;
  private listed = false;
  private streamsInitial = true;
  private readonly backoff: Backoff;
  private readonly transform: (object: T) => T;

  constructor(private readonly options: ReflectorOptions<T>) {
    this.transform = options.transform ?? ((object) => object);
    this.backoff = new Backoff(options.delays ?? defaultDelays);
  }

  async run(): Promise<void> {
    const { clock, random, signal, report, resource } = this.options;
    while (!signal.aborted) {
      const began = realClock(clock).monotonic();
      let ended = true;
      try {
        await this.listAndWatch();
      } catch (error) {
        if (signal.aborted) return;
        ended = false;
        const failed = this.backoff.failed("");
        if (isExpired(error)) this.version = undefined;
        else if (failed > 0) report(`Failed to list or watch ${resource.plural}`, error);
      }
      if (realClock(clock).monotonic() - began >= backoffResetMs) {
        this.backoff.forget("");
        if (ended) continue;
      }
      const delayMs = this.backoff.next("") * (1 + random.next());
      await clock.sleep(delayMs, signal).catch(() => undefined);
    }
  }

  /** Lists if necessary, and watches until the watch ends. */
  private async listAndWatch(): Promise<void> {
    if (this.version === undefined && this.streamsInitial) {
      try {
        return await this.watch(true);
      } catch (error) {
        const refused = error instanceof StatusError && watchListUnsupported.has(error.code);
        if (!refused || this.version !== undefined) throw error;
        this.streamsInitial = false;
      }
    }
    if (this.version === undefined) await this.list();
    await this.watch(false);
  }

  private async list(): Promise<void> {
    const { client, resource, selection, signal, sink } = this.options;
    const items: T[] = [];
    // The first list may come from a cache; a relist from it could go back in time.
    const resourceVersion = this.listed ? "" : "0";
    let continueToken = "";
    let version: string;
    do {
      const first = continueToken === "";
      const page = await client.list(resource, {
        ...selection,
        limit: pageSize,
        ...(first ? { resourceVersion } : { continueToken }),
        signal,
      });
      for (const item of page.items) items.push(this.transform(item));
      ({ continueToken, resourceVersion: version } = page);
    } while (continueToken !== "");
    this.listed = true;
    sink.replaced(items);
    this.version = version;
  }

  private async watch(initially: boolean): Promise<void> {
    const { client, resource, selection, signal, random } = this.options;
    const timeoutSeconds = watchSeconds + random.below(watchSeconds);
    const from = initially ? { sendInitialEvents: true } : { resourceVersion: this.version ?? "" };
    const events = client.watch(resource, { ...selection, ...from, timeoutSeconds, signal });
    let initial = initially ? new Map<string, T>() : undefined;
    for await (const event of events) {
      if (event.type === "ERROR") throw new StatusError(event.status);
      if (initial === undefined) {
        this.apply(event);
      } else if (event.type !== "BOOKMARK") {
        const { metadata } = event.object;
        const key = `${metadata.namespace ?? ""}/${metadata.name}`;
        if (event.type === "DELETED") initial.delete(key);
        else initial.set(key, this.transform(event.object));
      } else if (event.initialEventsEnd) {
        this.options.sink.replaced([...initial.values()]);
        initial = undefined;
        this.version = event.resourceVersion;
        this.listed = true;
      }
    }
  }

  private apply(event: Exclude<WatchEvent<T>, { readonly status: Status }>): void {
    if (event.type === "BOOKMARK") {
      this.version = event.resourceVersion;
      return;
    }
    this.options.sink.changed(event.type, this.transform(event.object));
    this.version = event.object.metadata.resourceVersion;
  }
}

/** Whether the resourceVersion is expired, or newer than the server's (a restored backup). */
function isExpired(error: unknown): boolean {
  if (!(error instanceof StatusError)) return false;
  const causes = error.status.details?.causes ?? [];
  return error.code === 410 || causes.some(({ reason }) => reason === "ResourceVersionTooLarge");
}

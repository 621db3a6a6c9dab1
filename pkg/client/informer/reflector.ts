import { type Clock, type Random, realClock } from "#base";
import { type Status, StatusError } from "#meta";
import type { ApiObject, Client, Handle, Selection, WatchEvent } from "../contract.ts";
import { Backoff } from "../rate-limits.ts";

/** Told of a collection as it is, then of every change in order, none left out and none twice. */
export interface ReflectorSink<T extends ApiObject> {
  /** All objects at once: at first, and whenever the thread of changes was lost. */
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
  /** Told of what went wrong and will be tried again. */
  readonly report: (what: string, error: unknown) => void;
  /** Before the next try, each up to as much again. */
  readonly delays?: { readonly firstMs: number; readonly longestMs: number };
}

const pageSize = 500;
/** A watch ends after this and up to as much again, so that the watches of a process spread out. */
const watchSeconds = 300;
const usualDelays = { firstMs: 800, longestMs: 30_000 };
/** What has lasted so long is no failure when it ends. */
const lastingMs = 60_000;
/**
 * Statuses by which servers say that they have no initial events; 500 is kube-apiserver's on an etcd
 * that cannot report its progress (before 3.4.25 and 3.5.8), in an ERROR event.
 */
const unknownOption: ReadonlySet<number> = new Set([400, 403, 405, 422, 500]);

/**
 * Follows a collection until the signal aborts: initial events if the server has them, else a list
 * in pages, then the changes. A broken watch resumes at the last resourceVersion; only when that
 * has expired does the reflector list again.
 */
export async function reflect<T extends ApiObject>(options: ReflectorOptions<T>): Promise<void> {
  await new Reflection(options).run();
}

class Reflection<T extends ApiObject> {
  /** Last version that was seen; undefined = the thread is lost. */
  private version: string | undefined;
  private listed = false;
  private streamsInitial = true;
  private readonly backoff: Backoff;
  private readonly transform: (object: T) => T;

  constructor(private readonly options: ReflectorOptions<T>) {
    this.transform = options.transform ?? ((object) => object);
    this.backoff = new Backoff(options.delays ?? usualDelays);
  }

  async run(): Promise<void> {
    const { clock, random, signal, report, resource } = this.options;
    while (!signal.aborted) {
      const began = realClock(clock).monotonic();
      let ended = true;
      try {
        await this.once();
      } catch (error) {
        if (signal.aborted) return;
        ended = false;
        const failed = this.backoff.failed("");
        if (isLost(error)) this.version = undefined;
        else if (failed > 0) report(`Failed to list or watch ${resource.plural}`, error);
      }
      if (realClock(clock).monotonic() - began >= lastingMs) {
        this.backoff.forget("");
        if (ended) continue;
      }
      const delayMs = this.backoff.next("") * (1 + random.next());
      await clock.sleep(delayMs, signal).catch(() => undefined);
    }
  }

  /** Until the watch ends. */
  private async once(): Promise<void> {
    if (this.version === undefined && this.streamsInitial) {
      try {
        return await this.follow(true);
      } catch (error) {
        const refused = error instanceof StatusError && unknownOption.has(error.code);
        if (!refused || this.version !== undefined) throw error;
        this.streamsInitial = false;
      }
    }
    if (this.version === undefined) await this.list();
    await this.follow(false);
  }

  private async list(): Promise<void> {
    const { client, resource, selection, signal, sink } = this.options;
    const items: T[] = [];
    // Whatever a cache has will do at first. Later it might be older than what was seen.
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

  private async follow(initially: boolean): Promise<void> {
    const { client, resource, selection, signal, random } = this.options;
    const timeoutSeconds = watchSeconds + random.below(watchSeconds);
    const from = initially ? { sendInitialEvents: true } : { resourceVersion: this.version ?? "" };
    const events = client.watch(resource, { ...selection, ...from, timeoutSeconds, signal });
    let initial = initially ? new Map<string, T>() : undefined;
    for await (const event of events) {
      if (event.type === "ERROR") throw new StatusError(event.status);
      if (initial === undefined) {
        this.take(event);
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

  private take(event: Exclude<WatchEvent<T>, { readonly status: Status }>): void {
    if (event.type === "BOOKMARK") {
      this.version = event.resourceVersion;
      return;
    }
    this.options.sink.changed(event.type, this.transform(event.object));
    this.version = event.object.metadata.resourceVersion;
  }
}

/** The server has forgotten the version that was asked for, or has been put back before it. */
function isLost(error: unknown): boolean {
  if (!(error instanceof StatusError)) return false;
  const causes = error.status.details?.causes ?? [];
  return error.code === 410 || causes.some(({ reason }) => reason === "ResourceVersionTooLarge");
}

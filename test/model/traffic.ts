import type { Random } from "#base";
import { type ApiObject, type Client, ConnectionError, type Handle } from "#client";
import { StatusError } from "#meta";
import type { Operation, Told, Version, Write } from "./history.ts";

/** The objects of the traffic: each has one value, in its data. */
interface Thing extends ApiObject {
  readonly data?: { readonly value?: string };
}

export const things: Handle<Thing> = {
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
};
export const namespace = "model";
export const names = Array.from({ length: 6 }, (_, index) => `thing-${index}`);

export interface TrafficOptions {
  readonly client: Client;
  readonly random: Random;
  /** Makes the values of this worker unique. */
  readonly worker: number;
  readonly signal: AbortSignal;
  /** Receives all operations. */
  readonly history: Operation[];
  /** Receives valid requests that failed. */
  readonly failures: string[];
}

/** Delay after a failure in ms. */
const failurePauseMs = 50;
const pauses = [0, 0, 1, 2, 5];

/** Sends random reads and writes in sequence until the signal aborts. */
export async function runTraffic(options: TrafficOptions): Promise<void> {
  const worker = new Worker(options);
  const { random, signal } = options;
  while (!signal.aborted) {
    const failed = await worker.step();
    await pause(failed ? failurePauseMs : random.pick(pauses));
  }
}

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

class Worker {
  readonly #options: TrafficOptions;
  #serial = 0;
  #failed = false;

  constructor(options: TrafficOptions) {
    this.#options = options;
  }

  /** Sends a request, or a read and a dependent write. Returns whether one failed. */
  async step(): Promise<boolean> {
    this.#failed = false;
    const { random } = this.#options;
    const key = random.pick(names);
    switch (random.below(8)) {
      case 0:
        await this.#list();
        break;
      case 1:
      case 2:
        await this.#create(key);
        break;
      case 3:
        await this.#patch(key);
        break;
      case 4:
        await this.#delete(key);
        break;
      case 5:
        await this.#read(key);
        break;
      default:
        await this.#update(key);
    }
    return this.#failed;
  }

  async #list(): Promise<void> {
    const start = performance.now();
    const page = await this.#unless(this.#options.client.list(things, { namespace }));
    if (page === undefined || page === "refused") return;
    const { items, resourceVersion } = page;
    const found = foundIn(items);
    this.#note({ kind: "list", start, end: performance.now(), revision: +resourceVersion, found });
  }

  async #read(key: string): Promise<Version | undefined> {
    const start = performance.now();
    const get = this.#options.client.get(things, { namespace, name: key });
    const object = await this.#unless(get, 404);
    if (object === undefined) return undefined;
    const found = object === "refused" ? undefined : versionOf(object);
    this.#note({ kind: "read", start, end: performance.now(), key, found });
    return found;
  }

  #create(key: string): Promise<void> {
    const value = this.#value();
    const object = { metadata: { name: key, namespace }, data: { value } };
    const { client } = this.#options;
    return this.#write({ key, value, expected: 0 }, () => client.create(things, object));
  }

  #patch(key: string): Promise<void> {
    const value = this.#value();
    const { client } = this.#options;
    return this.#write({ key, value, expected: undefined }, () =>
      client.patch(things, { namespace, name: key }, { type: "merge", body: { data: { value } } }),
    );
  }

  async #update(key: string): Promise<void> {
    const found = await this.#read(key);
    if (found === undefined) return;
    const value = this.#value();
    const metadata = { name: key, namespace, resourceVersion: String(found.revision) };
    const object = { metadata, data: { value } };
    const { client } = this.#options;
    const expected = found.revision;
    await this.#write({ key, value, expected }, () => client.update(things, object));
  }

  async #delete(key: string): Promise<void> {
    const found = await this.#read(key);
    if (found === undefined) return;
    const preconditions = { resourceVersion: String(found.revision) };
    const { client } = this.#options;
    await this.#write({ key, value: undefined, expected: found.revision }, async () => {
      await client.delete(things, { namespace, name: key }, { preconditions });
    });
  }

  async #write(
    write: Pick<Write, "key" | "value" | "expected">,
    send: () => Promise<Thing | void>,
  ): Promise<void> {
    const start = performance.now();
    const answer = await this.#unless(
      send().then((object) => object ?? "deleted"),
      404,
      409,
      422,
    );
    const end = performance.now();
    const common = { kind: "write", ...write, start, end } as const;
    if (answer === undefined) this.#note({ ...common, outcome: "unknown" });
    else if (answer === "refused") this.#note({ ...common, outcome: "refused" });
    else if (answer === "deleted") this.#note({ ...common, outcome: "done" });
    else this.#note({ ...common, outcome: "done", revision: versionOf(answer).revision });
  }

  #note(operation: Operation): void {
    this.#options.history.push(operation);
  }

  #value(): string {
    this.#serial += 1;
    return `${this.#options.worker}.${this.#serial}`;
  }

  /** The response; `refused` for these codes, undefined for a failure. */
  async #unless<T>(
    answer: Promise<T>,
    ...codes: readonly number[]
  ): Promise<T | "refused" | undefined> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof StatusError && codes.includes(error.code)) return "refused";
      if (!isTrouble(error)) throw error;
      if (!this.#options.signal.aborted) this.#options.failures.push(String(error));
      this.#failed = true;
      return undefined;
    }
  }
}

/** Failures of requests that are expected when servers are killed. */
export function isTrouble(error: unknown): boolean {
  if (error instanceof ConnectionError) return true;
  if (error instanceof StatusError) return error.code >= 500 || error.code === 429;
  return error instanceof Error && ["AbortError", "DeadlineExceeded"].includes(error.name);
}

function versionOf({ metadata, data }: Thing): Version {
  return { revision: Number(metadata.resourceVersion), value: data?.value ?? "" };
}

/** Excludes the objects that controllers create in every namespace. */
function isOwn({ metadata }: ApiObject): boolean {
  return names.includes(metadata.name);
}

function foundIn(items: readonly Thing[]): ReadonlyMap<string, Version> {
  const own = items.filter(isOwn);
  return new Map(own.map((item) => [item.metadata.name, versionOf(item)]));
}

/** Watches, and resumes at the end of the last watch; relists only after a 410. */
export async function runWatcher(
  client: Client,
  told: Told[],
  { signal, name }: { readonly signal: AbortSignal; readonly name?: string },
): Promise<void> {
  const selection = name === undefined ? {} : { fieldSelector: `metadata.name=${name}` };
  let version: string | undefined;
  while (!signal.aborted) {
    try {
      if (version === undefined) {
        const page = await client.list(things, { namespace, signal, ...selection });
        version = page.resourceVersion;
        told.push({ type: "LISTED", revision: Number(version), found: foundIn(page.items) });
      }
      const options = { namespace, resourceVersion: version, signal, ...selection };
      for await (const event of client.watch(things, options)) {
        if (event.type === "ERROR") {
          if (event.status.code === 410) version = undefined;
          break;
        }
        version =
          event.type === "BOOKMARK" ? event.resourceVersion : event.object.metadata.resourceVersion;
        if (event.type === "BOOKMARK" || isOwn(event.object)) told.push(toldOf(event));
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof StatusError && error.code === 410) version = undefined;
      else if (!isTrouble(error)) throw error;
      await pause(failurePauseMs);
    }
  }
}

type WatchEvent = Client["watch"] extends (...words: any[]) => AsyncIterable<infer E> ? E : never;

function toldOf(event: Exclude<WatchEvent, { readonly type: "ERROR" }>): Told {
  if (event.type === "BOOKMARK") {
    return { type: "BOOKMARK", revision: Number(event.resourceVersion) };
  }
  const object: Thing = event.object;
  return { type: event.type, key: object.metadata.name, version: versionOf(object) };
}

import { AsyncQueue, type Clock, randomText, type Random, setBounded, printJson } from "#base";
import { formatSeconds, groupVersionOf, isNamespaceTerminating, isNotFound } from "#meta";
import type { ApiObject, Client, Draft, Handle } from "./contract.ts";
import { sendWithRetries } from "./event-attempts.ts";
import { TokenBucket } from "./rate-limits.ts";

interface CoreEvent extends ApiObject {
  readonly involvedObject: object;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  readonly source: { readonly component: string; readonly host?: string };
  readonly reportingInstance?: string;
  readonly reportingComponent: string;
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
  readonly count: number;
}

const events: Handle<CoreEvent> = {
  group: "",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
};

/** Dependencies of an event recorder. */
export interface CoreEventContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborts to end the recorder. */
  readonly signal: AbortSignal;
  /** Reports an Event that could not be recorded. */
  readonly report: (what: string, error: unknown) => void;
}

/** Queue length; further Events are dropped. */
const maxQueued = 1_000;
const maxCached = 4_096;
/** Rate limit per object, client-go's: bursts of 25, then one in five minutes. */
const objectRate = { perSecond: 1 / 300, burst: 25 };
/**
 * Aggregation, as in client-go: once an object has this many different messages with one type and reason
 * within the interval, further ones are combined into one Event with the last message.
 */
const maxSimilar = 10;
const similarIntervalMs = 600_000;
const combinedPrefix = "(combined from similar events): ";

/** Messages of one object, type and reason. */
interface SimilarEvents {
  readonly messages: Set<string>;
  at: number;
}

type EventDetails = Pick<CoreEvent, "type" | "reason" | "message"> & {
  /** Node of the component; absent for components of the cluster. */
  readonly host?: string;
  /** Field of the involved object, such as `spec.containers{app}`. */
  readonly fieldPath?: string;
};

/** Records core/v1 Events as kube-controller-manager does; repetitions increment `count`. */
export class CoreEventRecorder {
  private readonly waiting = new AsyncQueue<Draft<CoreEvent>>(maxQueued);
  private readonly recorded = new Map<string, CoreEvent>();
  private readonly buckets = new Map<string, TokenBucket>();
  private readonly similar = new Map<string, SimilarEvents>();

  constructor(
    private readonly context: CoreEventContext,
    private readonly component: string,
  ) {
    context.signal.addEventListener("abort", () => this.waiting.end(), { once: true });
  }

  record(
    resource: Handle,
    { metadata }: ApiObject,
    { host, fieldPath, ...details }: EventDetails,
  ): void {
    const { clock, random } = this.context;
    const { namespace = "", name, uid, resourceVersion } = metadata;
    if (!this.bucketOf(uid).tryTake()) return;
    const now = formatSeconds({ seconds: Math.floor(clock.now() / 1000), nanos: 0 });
    const apiVersion = groupVersionOf(resource.group, resource.version);
    const suffix = randomText(random, 16, "0123456789abcdef");
    this.waiting.push({
      metadata: { namespace: namespace || "default", name: `${name}.${suffix}` },
      involvedObject: {
        apiVersion,
        kind: resource.kind,
        namespace,
        name,
        uid,
        resourceVersion,
        ...(fieldPath === undefined ? {} : { fieldPath }),
      },
      ...details,
      source: { component: this.component, ...(host === undefined ? {} : { host }) },
      reportingComponent: this.component,
      ...(host === undefined ? {} : { reportingInstance: host }),
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
    });
  }

  /** Sends events until the signal aborts. */
  async run(): Promise<void> {
    const { signal, report } = this.context;
    for await (const draft of this.waiting) {
      await sendWithRetries(() => this.send(draft), this.context).catch((error: unknown) => {
        if (!signal.aborted && !isNamespaceTerminating(error))
          report("Failed to record an Event", error);
      });
    }
  }

  private bucketOf(uid: string): TokenBucket {
    const bucket = this.buckets.get(uid) ?? new TokenBucket(this.context.clock, objectRate);
    setBounded(this.buckets, [uid, bucket], maxCached);
    return bucket;
  }

  private async send(draft: Draft<CoreEvent>): Promise<void> {
    const { client } = this.context;
    const { key, event } = this.correlate(draft);
    const before = this.recorded.get(key);
    const sent =
      before === undefined
        ? await client.create(events, event)
        : await this.incrementCount(before, event).catch((error: unknown) => {
            // The Event has expired.
            if (isNotFound(error)) return client.create(events, event);
            throw error;
          });
    setBounded(this.recorded, [key, sent], maxCached);
  }

  /** The Event to record, and the key of its repetitions. */
  private correlate(draft: Draft<CoreEvent>): { key: string; event: Draft<CoreEvent> } {
    const { resourceVersion: _version, ...involved } =
      draft.involvedObject as ApiObject["metadata"];
    const group = printJson([involved, draft.type, draft.reason]);
    const key = printJson([group, draft.message]);
    const now = this.context.clock.now();
    const known = this.similar.get(group);
    const isRecent = known !== undefined && now - known.at <= similarIntervalMs;
    const messages = isRecent ? known.messages : new Set<string>();
    messages.add(draft.message);
    setBounded(this.similar, [group, { messages, at: now }], maxCached);
    if (messages.size < maxSimilar) return { key, event: draft };
    // Only messages of the first, separate Events are retained.
    messages.delete(draft.message);
    return { key: group, event: { ...draft, message: combinedPrefix + draft.message } };
  }

  private incrementCount(
    { metadata, count }: CoreEvent,
    { message, lastTimestamp }: Draft<CoreEvent>,
  ) {
    const { namespace = "", name } = metadata;
    const body = { count: count + 1, message, lastTimestamp };
    return this.context.client.patch(events, { namespace, name }, { type: "merge", body });
  }
}

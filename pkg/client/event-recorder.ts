import { AsyncQueue, type Clock, randomText, type Random, setBounded } from "#base";
import { resolve } from "#meta";
import type { ApiObject, Client, Draft, Handle } from "./contract.ts";
import { sendWithRetries } from "./event-attempts.ts";
import { microsText } from "./leader-election/leader-election.ts";

/** Fields of an Event that the caller provides. */
export interface EventDetails {
  readonly type: "Normal" | "Warning";
  /** Reason and action, each in UpperCamelCase. */
  readonly reason: string;
  readonly action: string;
  /** Human-readable description; truncated to 1024 characters. */
  readonly note: string;
  /** Secondary object. */
  readonly related?: { readonly resource: Handle; readonly object: ApiObject };
}

export interface RecorderOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  /** `reportingController` (such as `example.com/controller`) and `reportingInstance`. */
  readonly controller: string;
  readonly instance: string;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

interface Reference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion?: string;
}

interface ApiEvent extends ApiObject {
  readonly eventTime?: string;
  readonly type?: string;
  readonly reason?: string;
  readonly action?: string;
  readonly note?: string;
  readonly regarding?: Reference;
  readonly related?: Reference;
  readonly reportingController?: string;
  readonly reportingInstance?: string;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

/** A recorded Event, whose series aggregates repetitions. */
interface RecordedEvent {
  readonly event: ApiEvent;
  readonly count: number;
  readonly at: number;
}

/** Limit of `note` in the Events API. */
const maxNoteLength = 1024;
/** Queue length; further Events are dropped. */
const maxQueued = 1000;
const maxRecorded = 4096;
/** Time in ms without repetition after which a series ends. */
const seriesMs = 6 * 60_000;

/** Records Events in the background, without blocking the caller. */
export class EventRecorder {
  private readonly waiting = new AsyncQueue<Draft<ApiEvent>>(maxQueued);
  private readonly recorded = new Map<string, RecordedEvent>();
  private readonly events: Handle<ApiEvent>;

  constructor(private readonly options: RecorderOptions) {
    const group = resolve("events.{api}", options.client.domain);
    this.events = { group, version: "v1", plural: "events", kind: "Event", namespaced: true };
    options.signal.addEventListener("abort", () => this.waiting.end(), { once: true });
  }

  /** Queues an Event; Events of cluster-scoped objects are in the namespace `default`. */
  record(resource: Handle, object: ApiObject, { related, ...details }: EventDetails): void {
    const { clock, random, controller, instance } = this.options;
    const { name, namespace = "" } = object.metadata;
    const suffix = randomText(random, 16, "0123456789abcdef");
    this.waiting.push({
      metadata: { namespace: namespace || "default", name: `${name}.${suffix}` },
      eventTime: microsText(clock),
      ...details,
      note: details.note.slice(0, maxNoteLength),
      regarding: referenceTo(resource, object),
      ...(related === undefined ? {} : { related: referenceTo(related.resource, related.object) }),
      reportingController: controller,
      reportingInstance: instance,
    });
  }

  /** Sends events until the signal aborts. */
  async run(): Promise<void> {
    const { signal, report } = this.options;
    for await (const draft of this.waiting) {
      try {
        await this.send(draft);
      } catch (error) {
        if (!signal.aborted) report("Failed to record an Event", error);
      }
    }
  }

  private async send(draft: Draft<ApiEvent>): Promise<void> {
    const { client, clock } = this.options;
    const { regarding, related, type, reason, action } = draft;
    // As in client-go, the note is not part of the key: notes of repetitions are lost.
    const key = JSON.stringify([regarding, related, type, reason, action]);
    const now = clock.now();
    const known = this.recorded.get(key);
    this.recorded.delete(key);
    if (known === undefined || now - known.at > seriesMs) {
      const event = await sendWithRetries(() => client.create(this.events, draft), this.options);
      if (event !== undefined) this.cache(key, { event, count: 1, at: now });
      return;
    }
    const count = known.count + 1;
    const { metadata } = known.event;
    const { namespace = "", name } = metadata;
    const body = { series: { count, lastObservedTime: draft.eventTime } };
    await sendWithRetries(
      () => client.patch(this.events, { namespace, name }, { type: "merge", body }),
      this.options,
    );
    this.cache(key, { event: known.event, count, at: now });
  }

  private cache(key: string, told: RecordedEvent): void {
    setBounded(this.recorded, [key, told], maxRecorded);
  }
}

function referenceTo({ group, version, kind }: Handle, { metadata }: ApiObject): Reference {
  const { name, namespace = "", uid, resourceVersion } = metadata;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  return { apiVersion, kind, namespace, name, uid, resourceVersion };
}

import { AsyncQueue, type Clock, randomText, type Random, setBounded } from "#base";
import { resolve } from "#meta";
import type { ApiObject, Client, Draft, Handle } from "./contract.ts";
import { sendUntilAnswered } from "./event-attempts.ts";
import { microsText } from "./leader-election/leader-election.ts";

/** Something that happened to an object. */
export interface Happening {
  readonly type: "Normal" | "Warning";
  /** One word for machines, and what was done. */
  readonly reason: string;
  readonly action: string;
  /** In words; longer notes are cut. */
  readonly note: string;
  /** Another object that was involved. */
  readonly related?: { readonly resource: Handle; readonly object: ApiObject };
}

export interface RecorderOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  /** `example.com/controller`, and which instance of it. */
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

/** A recorded event; repetitions are aggregated into its series. */
interface Told {
  readonly event: ApiEvent;
  readonly count: number;
  readonly at: number;
}

/** Bounds of the Events API. */
const longestNote = 1024;
/** Events are best effort: what comes faster than it can be sent is dropped. */
const mostWaiting = 1000;
const mostTold = 4096;
/** A series ends when nothing was added for so long. */
const seriesMs = 6 * 60_000;

/** Records Events in the background, without blocking the caller. */
export class EventRecorder {
  private readonly waiting = new AsyncQueue<Draft<ApiEvent>>(mostWaiting);
  private readonly told = new Map<string, Told>();
  private readonly events: Handle<ApiEvent>;

  constructor(private readonly options: RecorderOptions) {
    const group = resolve("events.{api}", options.client.domain);
    this.events = { group, version: "v1", plural: "events", kind: "Event", namespaced: true };
    options.signal.addEventListener("abort", () => this.waiting.end(), { once: true });
  }

  /** Objects of cluster scope have their events in the namespace `default`. */
  record(resource: Handle, object: ApiObject, { related, ...happening }: Happening): void {
    const { clock, random, controller, instance } = this.options;
    const { name, namespace = "" } = object.metadata;
    const suffix = randomText(random, 16, "0123456789abcdef");
    this.waiting.push({
      metadata: { namespace: namespace || "default", name: `${name}.${suffix}` },
      eventTime: microsText(clock),
      ...happening,
      note: happening.note.slice(0, longestNote),
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
    // A repetition may say something else in its note, which is lost, as in client-go.
    const key = JSON.stringify([regarding, related, type, reason, action]);
    const now = clock.now();
    const known = this.told.get(key);
    this.told.delete(key);
    if (known === undefined || now - known.at > seriesMs) {
      const event = await sendUntilAnswered(() => client.create(this.events, draft), this.options);
      if (event !== undefined) this.remember(key, { event, count: 1, at: now });
      return;
    }
    const count = known.count + 1;
    const { metadata } = known.event;
    const { namespace = "", name } = metadata;
    const body = { series: { count, lastObservedTime: draft.eventTime } };
    await sendUntilAnswered(
      () => client.patch(this.events, { namespace, name }, { type: "merge", body }),
      this.options,
    );
    this.remember(key, { event: known.event, count, at: now });
  }

  private remember(key: string, told: Told): void {
    setBounded(this.told, [key, told], mostTold);
  }
}

function referenceTo({ group, version, kind }: Handle, { metadata }: ApiObject): Reference {
  const { name, namespace = "", uid, resourceVersion } = metadata;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  return { apiVersion, kind, namespace, name, uid, resourceVersion };
}

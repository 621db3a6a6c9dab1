import { AsyncQueue, randomText, setBounded } from "#base";
import { type ApiObject, type Draft, type Handle, TokenBucket } from "#client";
import { formatSeconds, groupVersionOf, isNotFound } from "#meta";
import { type ControllerContext, isTerminating } from "./controller-context.ts";

interface CoreEvent extends ApiObject {
  readonly involvedObject: object;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  readonly source: { readonly component: string };
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

/** Events are best effort: those beyond this number wait for none and are dropped. */
const mostWaiting = 1_000;
const mostRemembered = 4_096;
/** Per object, as kube-controller-manager limits them: 25 at once, then one in five minutes. */
const objectRate = { perSecond: 1 / 300, burst: 25 };

type Happening = Pick<CoreEvent, "type" | "reason" | "message">;

/** Records core/v1 Events as kube-controller-manager does; repeated ones raise a count. */
export class CoreEventRecorder {
  private readonly waiting = new AsyncQueue<Draft<CoreEvent>>(mostWaiting);
  private readonly recorded = new Map<string, CoreEvent>();
  private readonly buckets = new Map<string, TokenBucket>();

  constructor(
    private readonly context: ControllerContext,
    private readonly component: string,
  ) {
    context.signal.addEventListener("abort", () => this.waiting.end(), { once: true });
  }

  record(resource: Handle, { metadata }: ApiObject, happening: Happening): void {
    const { clock, random } = this.context;
    const { namespace = "", name, uid, resourceVersion } = metadata;
    if (!this.bucketOf(uid).takeIfThere()) return;
    const now = formatSeconds({ seconds: Math.floor(clock.now() / 1000), nanos: 0 });
    const apiVersion = groupVersionOf(resource.group, resource.version);
    const suffix = randomText(random, 16, "0123456789abcdef");
    this.waiting.push({
      metadata: { namespace: namespace || "default", name: `${name}.${suffix}` },
      involvedObject: { apiVersion, kind: resource.kind, namespace, name, uid, resourceVersion },
      ...happening,
      source: { component: this.component },
      reportingComponent: this.component,
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
    });
  }

  /** Sends events until the signal aborts. */
  async run(): Promise<void> {
    const { signal, report } = this.context;
    for await (const draft of this.waiting) {
      await this.send(draft).catch((error: unknown) => {
        if (!signal.aborted && !isTerminating(error)) report("Failed to record an Event", error);
      });
    }
  }

  private bucketOf(uid: string): TokenBucket {
    const bucket = this.buckets.get(uid) ?? new TokenBucket(this.context.clock, objectRate);
    setBounded(this.buckets, [uid, bucket], mostRemembered);
    return bucket;
  }

  private async send(draft: Draft<CoreEvent>): Promise<void> {
    const { client } = this.context;
    const { resourceVersion: _version, ...involved } =
      draft.involvedObject as ApiObject["metadata"];
    const key = JSON.stringify([involved, draft.type, draft.reason, draft.message]);
    const before = this.recorded.get(key);
    const sent =
      before === undefined
        ? await client.create(events, draft)
        : await this.repeat(before, draft).catch((error: unknown) => {
            // The Event has expired meanwhile.
            if (isNotFound(error)) return client.create(events, draft);
            throw error;
          });
    setBounded(this.recorded, [key, sent], mostRemembered);
  }

  private repeat({ metadata, count }: CoreEvent, { lastTimestamp }: Draft<CoreEvent>) {
    const { namespace = "", name } = metadata;
    const body = { count: count + 1, lastTimestamp };
    return this.context.client.patch(events, { namespace, name }, { type: "merge", body });
  }
}

import { idleWhile } from "#base";
import {
  type ApiObject,
  type DiscoveredResource,
  type Handle,
  reflect,
  type ReflectorSink,
} from "#client";
import { groupVersionOf } from "#meta";
import { type Evaluator, evaluatorFor } from "#quota";
import type { ControllerContext } from "../controller-context.ts";

/** Discovery interval. */
const discoveryMs = 30_000;
/** Where the client tells of changes. */
const longestMs = 600_000;

export interface QuotaMonitorObserver {
  /** Names that quotas limit. */
  readonly names: () => ReadonlySet<string>;
  /** Called when the set of served resources has changed. */
  readonly served: () => void;
  /** Called when usage may have dropped in the namespace; undefined = in any. */
  readonly freed: (meter: Evaluator, namespace: string | undefined) => void;
}

/** Discovers countable resources, and watches those that some quota limits. */
export class QuotaMonitor {
  private served: readonly DiscoveredResource[] | undefined;
  private readonly followed = new Map<string, () => void>();

  constructor(
    private readonly context: ControllerContext,
    private readonly observer: QuotaMonitorObserver,
  ) {}

  /** Until the signal aborts. */
  async run(): Promise<void> {
    const { client, signal, clock, report } = this.context;
    let wake = new AbortController();
    const forget = client.onServed?.(() => wake.abort());
    while (!signal.aborted) {
      wake = new AbortController();
      await this.discover().catch((error: unknown) =>
        report("Failed to discover resources for quotas", error),
      );
      const either = AbortSignal.any([signal, wake.signal]);
      const isTold = forget !== undefined && this.served !== undefined;
      const ms = isTold ? longestMs : discoveryMs;
      await clock
        .sleep(
          ms,
          either,
          idleWhile(() => isTold),
        )
        .catch(() => undefined);
    }
    forget?.();
    for (const stop of this.followed.values()) stop();
  }

  /** Resources that count towards any of the names; undefined = not discovered yet. */
  countedBy(
    names: Iterable<string>,
  ): readonly (readonly [resource: Handle, meter: Evaluator])[] | undefined {
    const all = [...names];
    const { client, clock } = this.context;
    const how = { domain: client.domain, now: clock.now() };
    return this.served
      ?.map((resource) => [resource, evaluatorFor(resource, how)] as const)
      .filter(([, meter]) => all.some(meter.matches));
  }

  /** Starts and stops watches to match the limits of all quotas. */
  follow(): void {
    const wanted = this.countedBy(this.observer.names());
    if (wanted === undefined) return;
    const names = new Set<string>();
    for (const [resource, meter] of wanted) {
      const name = identityOf(resource);
      names.add(name);
      if (!this.followed.has(name)) this.begin(resource, meter);
    }
    for (const [name, stop] of this.followed) {
      if (names.has(name)) continue;
      this.followed.delete(name);
      stop();
    }
  }

  private async discover(): Promise<void> {
    const { resources, failures } = await this.context.client.discover();
    const found = new Map<string, DiscoveredResource>();
    // Group versions whose discovery failed have the resources that they had.
    const kept = (this.served ?? []).filter(({ group, version }) =>
      failures.has(groupVersionOf(group, version)),
    );
    for (const resource of [...resources, ...kept]) {
      const { namespaced, verbs, plural } = resource;
      const usable = namespaced && verbs.includes("list") && verbs.includes("watch");
      const name = nameOf(resource);
      // Quotas do not count events.
      if (usable && plural !== "events" && !found.has(name)) found.set(name, resource);
    }
    const before = this.served?.map(identityOf);
    this.served = [...found.values()];
    const isSame = before?.sort().join() === this.served.map(identityOf).sort().join();
    if (isSame) return;
    this.follow();
    this.observer.served();
  }

  private begin(resource: Handle, meter: Evaluator): void {
    const { signal } = this.context;
    const { plural } = resource;
    const life = new AbortController();
    this.followed.set(identityOf(resource), () => life.abort());
    const { freed } = this.observer;
    const sink: ReflectorSink<ApiObject> = {
      replaced: () => freed(meter, undefined),
      changed: (type, object) => {
        const isLower = type === "DELETED" || (type === "MODIFIED" && mayUseLess(object, plural));
        if (isLower) freed(meter, object.metadata.namespace);
      },
    };
    void reflect({
      ...this.context,
      resource,
      selection: { metadataOnly: meter.isPlain },
      signal: AbortSignal.any([signal, life.signal]),
      sink,
    });
  }
}

/**
 * Whether an update may have lowered the usage of an object: that of a service, by its type, of a
 * claim, and of a pod that has terminated or been resized.
 */
function mayUseLess(object: ApiObject, plural: string): boolean {
  if (plural !== "pods") return true;
  const { status, metadata } = object as PodParts;
  const hasEnded = status?.phase === "Succeeded" || status?.phase === "Failed";
  return hasEnded || Number(metadata.generation ?? 1) > 1;
}

interface PodParts {
  readonly metadata: { readonly generation?: number | bigint };
  readonly status?: { readonly phase?: string };
}

function nameOf({ plural, group }: Handle): string {
  return `${plural}.${group}`;
}

/** In another version it is another watch. */
function identityOf({ plural, group, version }: Handle): string {
  return `${plural}.${version}.${group}`;
}

import { plannedEnd } from "#base";
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
import { DiscoveryLoop } from "../discovery-loop.ts";

export interface QuotaMonitorObserver {
  /** Resource names that any quota limits. */
  readonly names: () => ReadonlySet<string>;
  /** Called when the set of served resources has changed. */
  readonly served: () => void;
  /** Called when usage may have dropped in the namespace; undefined = in any. */
  readonly freed: (evaluator: Evaluator, namespace: string | undefined) => void;
}

/** Discovers resources that quotas can count, and watches those that some quota limits. */
export class QuotaMonitor {
  private served: readonly DiscoveredResource[] | undefined;
  private readonly stops = new Map<string, () => void>();
  private readonly discovery: DiscoveryLoop;

  constructor(
    private readonly context: ControllerContext,
    private readonly observer: QuotaMonitorObserver,
  ) {
    const discover = () => this.discover();
    this.discovery = new DiscoveryLoop(context, { purpose: "quotas", discover });
  }

  /** Discovers resources and keeps their watches running until the signal aborts. */
  async run(): Promise<void> {
    await this.discovery.run();
    for (const stop of this.stops.values()) stop();
  }

  /** Resources that count towards any of the names; undefined = not discovered yet. */
  countedBy(
    names: Iterable<string>,
  ): readonly (readonly [resource: Handle, evaluator: Evaluator])[] | undefined {
    const all = [...names];
    const { client, clock } = this.context;
    const options = { domain: client.domain, now: clock.now() };
    return this.served
      ?.map((resource) => [resource, evaluatorFor(resource, options)] as const)
      .filter(([, evaluator]) => all.some(evaluator.matches));
  }

  /** Starts and stops watches to match the limits of all quotas. */
  updateWatches(): void {
    const wanted = this.countedBy(this.observer.names());
    if (wanted === undefined) return;
    const names = new Set<string>();
    for (const [resource, evaluator] of wanted) {
      const name = identityOf(resource);
      names.add(name);
      if (!this.stops.has(name)) this.startWatch(resource, evaluator);
    }
    for (const [name, stop] of this.stops) {
      if (names.has(name)) continue;
      this.stops.delete(name);
      stop();
    }
  }

  private async discover(): Promise<void> {
    const { resources, failures } = await this.context.client.discover();
    const found = new Map<string, DiscoveredResource>();
    // A group version whose discovery failed keeps its known resources.
    const undiscovered = (this.served ?? []).filter(({ group, version }) =>
      failures.has(groupVersionOf(group, version)),
    );
    for (const resource of [...resources, ...undiscovered]) {
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
    this.updateWatches();
    this.observer.served();
  }

  private startWatch(resource: Handle, evaluator: Evaluator): void {
    const { signal } = this.context;
    const { plural } = resource;
    const life = new AbortController();
    this.stops.set(identityOf(resource), () => life.abort(plannedEnd));
    const { freed } = this.observer;
    const sink: ReflectorSink<ApiObject> = {
      replaced: () => freed(evaluator, undefined),
      changed: (type, object) => {
        const mayFree =
          type === "DELETED" ||
          (type === "MODIFIED" && !evaluator.isConstant && mayLowerUsage(object, plural));
        if (mayFree) freed(evaluator, object.metadata.namespace);
      },
    };
    void reflect({
      ...this.context,
      resource,
      selection: { metadataOnly: evaluator.isConstant },
      signal: AbortSignal.any([signal, life.signal]),
      sink,
    });
  }
}

/**
 * Whether an update may have lowered an object's usage: any update of a Service or claim, or that of a pod
 * that has terminated or was resized.
 */
function mayLowerUsage(object: ApiObject, plural: string): boolean {
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

/** Key of a watch: resource and version. */
function identityOf({ plural, group, version }: Handle): string {
  return `${plural}.${version}.${group}`;
}

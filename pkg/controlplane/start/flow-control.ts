/** API Priority and Fairness of a server. */
import type { FollowedKind } from "#authz";
import { cryptoRandom, realClock } from "#base";
import {
  FairDispatcher,
  FlowControlConfiguration,
  FlowController,
  FlowControlMetrics,
  flowControlMetrics,
  WatchTracker,
  WorkEstimator,
} from "#flowcontrol";
import { resolve } from "#meta";
import type { Registry } from "#registry";
import type { Query } from "#request";
import { defaultLimits } from "#server";
import { isWorker } from "../process/workers.ts";
import type { ServerDependencies } from "./build-dependencies.ts";

export interface FlowControl {
  readonly controller: FlowController;
  /** Its configuration. */
  readonly followed: readonly FollowedKind[];
  /** The tables of `/debug/api_priority_and_fairness`, by path. */
  readonly dumps: ReadonlyMap<string, (query: Query) => string>;
}

type Dependencies = Pick<
  ServerDependencies,
  "catalog" | "clock" | "gates" | "metrics" | "options" | "report" | "signal"
> & { readonly registry: Pick<Registry, "cachedSize"> };

/** Undefined if it is switched off, or the server has no concurrency limit to share. */
export function buildFlowControl(dependencies: Dependencies): FlowControl | undefined {
  const { catalog, metrics, options, report, signal } = dependencies;
  const clock = realClock(dependencies.clock);
  const totalConcurrency = concurrencyLimit(options.limits);
  if (options.priorityAndFairness === false || totalConcurrency === 0) return undefined;
  // Workers share the seats of the flags, which an operator has to know.
  const seatsAre = isWorker() ? "of this worker" : "of this server";
  options.logger.info(isWorker() ? 0 : 1, `API Priority and Fairness: seats ${seatsAre}`, {
    seats: totalConcurrency,
  });
  const { instruments } = metrics;
  instruments.define(Object.values(flowControlMetrics));
  const recorder = new FlowControlMetrics(instruments, clock);
  const dispatcher = new FairDispatcher({ clock, random: cryptoRandom, metrics: recorder });
  signal.addEventListener("abort", () => dispatcher.close(), { once: true });
  const { domain } = catalog;
  const configuration = new FlowControlConfiguration({
    domain,
    dispatcher,
    totalConcurrency,
    report,
  });
  const watches = new WatchTracker();
  const estimator = new WorkEstimator({
    watches,
    dispatcher,
    metrics: recorder,
    isSizeBased: dependencies.gates("SizeBasedListCostEstimate"),
    sizeOf: (collection) => dependencies.registry.cachedSize(collection),
  });
  return {
    controller: new FlowController({ configuration, dispatcher, estimator, watches }),
    followed: followedKinds(configuration, resolve("flowcontrol.apiserver.{api}", domain)),
    dumps: dumpsOf(dispatcher),
  };
}

/** Seats of the server: the in-flight limits together, of which one may be absent. */
function concurrencyLimit(limits: ServerDependencies["options"]["limits"]): number {
  const { readsInFlight, writesInFlight } = { ...defaultLimits, ...limits };
  return [readsInFlight, writesInFlight]
    .filter(Number.isFinite)
    .reduce((sum, limit) => sum + limit, 0);
}

function followedKinds(
  { flowSchemas, priorityLevels }: FlowControlConfiguration,
  group: string,
): readonly FollowedKind[] {
  return [
    { group, version: "v1", plural: "prioritylevelconfigurations", index: keyed(priorityLevels) },
    { group, version: "v1", plural: "flowschemas", index: keyed(flowSchemas) },
  ];
}

/** Indexes by name, for followers that use keys of cluster-scoped objects: `/name`. */
function keyed<T>(index: {
  readonly set: (object: T) => void;
  readonly delete: (name: string) => void;
  readonly keys: () => Iterable<string>;
}): FollowedKind["index"] {
  return {
    set: index.set,
    delete: (key) => index.delete(key.slice(1)),
    keys: () => [...index.keys()].map((name) => `/${name}`),
  };
}

function dumpsOf(dispatcher: FairDispatcher): FlowControl["dumps"] {
  const folder = "/debug/api_priority_and_fairness";
  return new Map([
    [`${folder}/dump_priority_levels`, () => dispatcher.dumpPriorityLevels()],
    [`${folder}/dump_queues`, () => dispatcher.dumpQueues()],
    [
      `${folder}/dump_requests`,
      (query: Query) => dispatcher.dumpRequests(Boolean(query.get("includeRequestDetails"))),
    ],
  ]);
}

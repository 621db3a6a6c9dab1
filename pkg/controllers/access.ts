import type { Catalog, Resource } from "#meta";
import { StatusError } from "#meta";
import type { DeleteOptions, Item, ItemEvent, ListOptions, Registry, Target } from "#registry";
import type { User } from "#request";
import type { Clock } from "#base";

export { isConflict, isNotFound } from "./context.ts";

/** What every controller of the single process is given. */
export interface ControllerOptions {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Ends the controller. */
  readonly signal: AbortSignal;
  /** Told of what went wrong and will be tried again. */
  readonly report: (what: string, error: unknown) => void;
}

/** Who controllers are to the API. */
const controllerUser: User = {
  name: "system:kube-controller-manager",
  uid: "",
  groups: ["system:masters", "system:authenticated"],
  extra: new Map(),
};

export const everything: ListOptions = {
  labelSelector: "",
  fieldSelector: "",
  resourceVersion: "",
  resourceVersionMatch: "",
  limit: 0,
  continueToken: "",
};

export const plainDelete: DeleteOptions = {
  dryRun: false,
  gracePeriodSeconds: undefined,
  propagationPolicy: undefined,
  orphanDependents: undefined,
  preconditions: undefined,
};

export interface Place {
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** A request of the controllers about `resource`. */
export function targetOf(
  resource: Resource,
  { namespace = "", name = "", subresource = "" }: Place,
  signal: AbortSignal,
): Target {
  const userAgent = "kube-controller-manager";
  return { resource, namespace, name, subresource, user: controllerUser, signal, userAgent };
}

const apiserver: User = { ...controllerUser, name: "system:apiserver" };

/** A request of the API server itself. */
export function serverTarget(resource: Resource, place: Place, signal: AbortSignal): Target {
  return { ...targetOf(resource, place, signal), user: apiserver, userAgent: "kube-apiserver" };
}

export interface Observer {
  /** A new look at everything begins: forget what was known of this resource. */
  readonly restarted: () => void;
  /** Everything that existed when the look began has been reported. */
  readonly synced?: () => void;
  readonly changed: (item: Item, event: ItemEvent["type"]) => void;
}

const restartDelayMs = 500;

/** Lists and watches one resource until the signal aborts; begins anew whenever a watch ends. */
export async function observe(
  options: ControllerOptions,
  resource: Resource,
  observer: Observer,
): Promise<void> {
  const { registry, clock, signal, report } = options;
  while (!signal.aborted) {
    try {
      observer.restarted();
      await follow(registry, targetOf(resource, {}, signal), observer);
    } catch (error) {
      if (signal.aborted) return;
      report(`watch of ${resource.plural}`, error);
    }
    await clock.sleep(restartDelayMs, signal).catch(() => undefined);
  }
}

async function follow(registry: Registry, target: Target, observer: Observer): Promise<void> {
  const events = registry.watch(target, {
    ...everything,
    resourceVersionMatch: "NotOlderThan",
    allowBookmarks: true,
    sendInitialEvents: true,
    timeoutSeconds: undefined,
  });
  for await (const event of events) {
    if (event.type === "ERROR") throw new StatusError(event.status);
    if (event.type !== "BOOKMARK") observer.changed(event.item, event.type);
    else if (event.initialEventsEnd) observer.synced?.();
  }
}

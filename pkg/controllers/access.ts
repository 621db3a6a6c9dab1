import type { Clock } from "#base";
import type { Catalog, Resource } from "#meta";
import type { DeleteOptions, ListOptions, Registry, Target } from "#registry";
import type { User } from "#request";

/** What the API server itself keeps objects by: its own registry, before it serves anybody. */
export interface ServerAccess {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Told of what went wrong and will be tried again. */
  readonly report: (what: string, error: unknown) => void;
}

/** Who the API server is to itself. */
const apiserver: User = {
  name: "system:apiserver",
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

interface Place {
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** A request of the API server itself about `resource`. */
export function serverTarget(
  resource: Resource,
  { namespace = "", name = "", subresource = "" }: Place,
  signal: AbortSignal,
): Target {
  const asking = { user: apiserver, signal, userAgent: "kube-apiserver" };
  return { resource, namespace, name, subresource, ...asking };
}

import type { Clock } from "#base";
import type { Catalog, Resource } from "#meta";
import { StatusError } from "#meta";
import type { DeleteOptions, ListOptions, Registry, Target } from "#registry";
import type { Tracer, User } from "#request";

/** What definitions are served with. */
export interface DefinitionOptions {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Told of what went wrong and will be tried again. */
  readonly report: (what: string, error: unknown) => void;
  /** Records calls to webhooks. */
  readonly tracer?: Tracer;
}

export const apiserver: User = {
  name: "system:apiserver",
  uid: "",
  groups: ["system:masters", "system:authenticated"],
  extra: new Map(),
};

interface Place {
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** A request of the API server itself. */
export function targetOf(
  resource: Resource,
  { namespace = "", name = "", subresource = "" }: Place,
  signal: AbortSignal,
): Target {
  const userAgent = "kube-apiserver";
  return { resource, namespace, name, subresource, user: apiserver, signal, userAgent };
}

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

/** Somebody else was faster, or it is gone: the next event tells what to do. */
export function isOutdated(error: unknown): boolean {
  return error instanceof StatusError && (error.code === 409 || error.code === 404);
}

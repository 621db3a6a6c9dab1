/** Requests of the API server to its own registry: their user and default options. */
import { printJson } from "#base";
import type { Clock } from "#base";
import type { Catalog, Resource } from "#meta";
import type { User } from "#request";
import type {
  Body,
  DeleteOptions,
  ListOptions,
  Registry,
  RequestContext,
  ResourceRequest,
  WriteOptions,
} from "./contract.ts";

/** Dependencies of the server components that manage objects through the registry. */
export interface ServerAccess {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Aborts when the server shuts down. */
  readonly signal: AbortSignal;
  /** Called with errors of attempts that will be retried. */
  readonly report: (what: string, error: unknown) => void;
}

/** User of the API server's own requests. */
export const apiserver: User = {
  name: "system:apiserver",
  uid: "",
  groups: ["system:masters", "system:authenticated"],
  extra: new Map(),
};

/** Field manager of the API server's own requests. */
export const apiserverAgent = "kube-apiserver";

interface ObjectPath {
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** A request of the API server itself about `resource`. */
export function loopbackRequest(
  resource: Resource,
  { namespace = "", name = "", subresource = "" }: ObjectPath,
  context: RequestContext,
): ResourceRequest {
  const client = { user: apiserver, context, userAgent: apiserverAgent };
  return { resource, namespace, name, subresource, ...client };
}

/** The body of a request about an object of `resource`, given without `apiVersion` and `kind`. */
export function bodyOf({ groupVersion, kind }: Resource, object: object): Body {
  return jsonBody({ apiVersion: groupVersion, kind: kind.kind, ...object });
}

export function jsonBody(value: unknown): Body {
  return { bytes: Buffer.from(printJson(value)), format: "json" };
}

export const listAll: ListOptions = {
  labelSelector: "",
  fieldSelector: "",
  resourceVersion: "",
  resourceVersionMatch: "",
  limit: 0,
  continueToken: "",
};

export const defaultWriteOptions: WriteOptions = {
  dryRun: false,
  fieldManager: "",
  fieldValidation: "Ignore",
};

export const defaultDeleteOptions: DeleteOptions = {
  dryRun: false,
  gracePeriodSeconds: undefined,
  propagationPolicy: undefined,
  orphanDependents: undefined,
  preconditions: undefined,
};

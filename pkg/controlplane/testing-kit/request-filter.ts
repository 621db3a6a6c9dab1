import { printJson } from "#base";
import type { RequestInfo } from "#request";

/** Verbs as in RBAC; `write` matches all verbs that change objects. */
export type Verb =
  | "get"
  | "list"
  | "watch"
  | "create"
  | "update"
  | "patch"
  | "delete"
  | "deletecollection"
  | "write";

/** Selects requests; an absent member matches any. */
export interface RequestFilter {
  readonly verb?: Verb | readonly Verb[];
  /** Plural, with group and subresource if there are any: `deployments.apps`, `pods/status`. */
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** Name of the user, after impersonation. */
  readonly user?: string;
  /** Substring of the User-Agent header. */
  readonly userAgent?: string;
}

/** Attributes of a request that logs list and filters match. */
export interface DescribedRequest {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: string;
  readonly userAgent: string;
}

export function describeRequest(
  info: RequestInfo,
  { user, userAgent }: Pick<DescribedRequest, "user" | "userAgent">,
): DescribedRequest {
  const { verb, group, version, resource, subresource, namespace, name } = info;
  return { verb, group, version, resource, subresource, namespace, name, user, userAgent };
}

const writes: ReadonlySet<string> = new Set([
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
]);
const verbs: ReadonlySet<unknown> = new Set(["get", "list", "watch", "write", ...writes]);
const texts = ["resource", "namespace", "name", "user", "userAgent"] as const;
const members: ReadonlySet<string> = new Set(["verb", ...texts]);

/** Whether the filter selects the request. */
export function matches(filter: RequestFilter, request: DescribedRequest): boolean {
  const { verb, resource, namespace, name, user, userAgent } = filter;
  if (verb !== undefined && ![verb].flat().some((one) => isVerb(one, request.verb))) return false;
  if (resource !== undefined && !isResource(resource, request)) return false;
  if (namespace !== undefined && namespace !== request.namespace) return false;
  if (name !== undefined && name !== request.name) return false;
  if (user !== undefined && user !== request.user) return false;
  return userAgent === undefined || request.userAgent.includes(userAgent);
}

function isVerb(wanted: string, verb: string): boolean {
  return wanted === verb || (wanted === "write" && writes.has(verb));
}

/** Whether `wanted` names the request's resource; a resource does not include its subresources. */
function isResource(wanted: string, request: DescribedRequest): boolean {
  const [full = "", subresource = ""] = wanted.split("/");
  const dot = full.indexOf(".");
  const plural = dot < 0 ? full : full.slice(0, dot);
  if (plural !== request.resource || subresource !== request.subresource) return false;
  return dot < 0 || full.slice(dot + 1) === request.group;
}

/**
 * Validates a filter from outside the process; `others` are additional members that the object may
 * have.
 * @throws TypeError that names the member
 */
export function checkFilter(value: object, others: readonly string[] = []): RequestFilter {
  const filter = value as Record<string, unknown>;
  for (const name of Object.keys(filter)) {
    if (members.has(name) || others.includes(name)) continue;
    throw new TypeError(`unknown member ${JSON.stringify(name)}`);
  }
  for (const verb of [filter["verb"] ?? []].flat()) {
    if (!verbs.has(verb)) throw new TypeError(`unknown verb ${printJson(verb)}`);
  }
  for (const name of texts) {
    if (!["undefined", "string"].includes(typeof filter[name])) {
      throw new TypeError(`${name} must be a string`);
    }
  }
  return value;
}

/** Formats a filter for assertion messages. */
export function filterText(filter: RequestFilter): string {
  const parts = Object.entries(filter).map(([name, value]) => `${name} ${String(value)}`);
  return parts.length === 0 ? "any request" : parts.join(", ");
}

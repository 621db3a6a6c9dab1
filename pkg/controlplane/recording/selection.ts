import type { ApiObject, DiscoveredResource } from "#client";
import { type Domain, resolve } from "#meta";
import { RecordError } from "./record-error.ts";

/** Selects every kind of the scope in `--kinds`. */
const everyKind = "*";

/**
 * Resources that servers and controllers create automatically, with `.group`; recorded only if they
 * are named.
 */
const derived: ReadonlySet<string> = new Set([
  "events",
  "events.events.{api}",
  "leases.coordination.{api}",
  "ipaddresses.networking.{api}",
  "servicecidrs.networking.{api}",
]);

/** Resources of the Service `kubernetes`, which every API server publishes. */
const ofServer: ReadonlySet<string> = new Set(["services", "endpoints", "endpointslices"]);

/**
 * The resources of `discovered` that a recording covers, one version of each. Without `kinds`,
 * these are all resources that can be created and watched, except derived ones; with namespaces,
 * cluster-scoped resources must be named.
 *
 * @throws RecordError for a kind that the server does not have
 */
export function selectedResources(
  discovered: readonly DiscoveredResource[],
  {
    kinds,
    namespaces,
  }: { readonly kinds: readonly string[]; readonly namespaces: readonly string[] },
  domain: Domain,
): readonly DiscoveredResource[] {
  const resources = onePerResource(discovered.filter(isStored));
  const wanted = kinds.length === 0 ? [everyKind] : kinds;
  const skipped = new Set([...derived].map((name) => resolve(name, domain)));
  const chosen = wanted.flatMap((word) => {
    if (word === everyKind) {
      return resources.filter(
        (each) => !skipped.has(qualifiedName(each)) && (each.namespaced || namespaces.length === 0),
      );
    }
    const named = resources.filter((each) => isCalled(each, word.toLowerCase()));
    if (named.length > 0) return named;
    throw new RecordError(`the server has no kind ${JSON.stringify(word)} that can be recorded`);
  });
  return [...new Set(chosen)];
}

/** Whether every server creates this object itself, so that a recorded one would conflict. */
export function isOfServer(
  { group, plural }: DiscoveredResource,
  { metadata, ...fields }: ApiObject,
): boolean {
  const { namespace, name } = metadata;
  if (namespace === "default" && name === "kubernetes") return ofServer.has(plural);
  const isApiService = plural === "apiservices" && group.startsWith("apiregistration.");
  return isApiService && (fields as { spec?: { service?: unknown } }).spec?.service === undefined;
}

/** Qualified name of a resource, such as `deployments.apps` or `pods`. */
export function qualifiedName({
  group,
  plural,
}: Pick<DiscoveredResource, "group" | "plural">): string {
  return group === "" ? plural : `${plural}.${group}`;
}

function isStored({ verbs }: DiscoveredResource): boolean {
  return ["create", "list", "watch"].every((verb) => verbs.includes(verb));
}

/**
 * Keeps the first, preferred version of each resource, because all versions hold the same objects.
 */
function onePerResource(all: readonly DiscoveredResource[]): readonly DiscoveredResource[] {
  const first = new Map<string, DiscoveredResource>();
  for (const each of all) {
    const name = qualifiedName(each);
    if (!first.has(name)) first.set(name, each);
  }
  return [...first.values()];
}

function isCalled(resource: DiscoveredResource, word: string): boolean {
  const { group, plural, kind } = resource;
  const names = [plural, kind.toLowerCase()];
  return names.some((name) => word === name || word === `${name}.${group}`);
}

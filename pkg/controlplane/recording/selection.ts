import type { ApiObject, DiscoveredResource } from "#client";
import { type Domain, resolve } from "#meta";
import { RecordError } from "./record-error.ts";

/** Selects every kind of the scope in `--kinds`. */
const everyKind = "*";

/** Resources that a server makes by itself, `.group` appended; recorded only when they are named. */
const derived: ReadonlySet<string> = new Set([
  "events",
  "events.events.{api}",
  "leases.coordination.{api}",
  "ipaddresses.networking.{api}",
  "servicecidrs.networking.{api}",
]);

/** Objects of the Service `kubernetes`, which every API server publishes for itself. */
const ofServer: ReadonlySet<string> = new Set(["services", "endpoints", "endpointslices"]);

/**
 * The resources of `discovered` that a recording covers, one version of each. Without `kinds` these
 * are all that can be created and watched, but for derived ones; with namespaces, cluster-scoped
 * resources must be named.
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

/** Whether an object is one that a server makes for itself, and would conflict with. */
export function isOfServer(
  { group, plural }: DiscoveredResource,
  { metadata, ...fields }: ApiObject,
): boolean {
  const { namespace, name } = metadata;
  if (namespace === "default" && name === "kubernetes") return ofServer.has(plural);
  const isApiService = plural === "apiservices" && group.startsWith("apiregistration.");
  return isApiService && (fields as { spec?: { service?: unknown } }).spec?.service === undefined;
}

/** `deployments.apps`, `pods`. */
export function qualifiedName({
  group,
  plural,
}: Pick<DiscoveredResource, "group" | "plural">): string {
  return group === "" ? plural : `${plural}.${group}`;
}

function isStored({ verbs }: DiscoveredResource): boolean {
  return ["create", "list", "watch"].every((verb) => verbs.includes(verb));
}

/** Versions of one resource hold the same objects; the preferred version comes first. */
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

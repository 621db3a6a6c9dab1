import { notFound, plainFailure, tooLargeResourceVersion } from "#meta";
import type { GetOptions, Item, Target } from "./contract.ts";
import type { Environment } from "./environment.ts";
import { keyOf, StoredItem } from "./stored.ts";
import { parseVersion, versionFault } from "./versions.ts";

/**
 * GET of one object: always the newest state, which is "not older than" any version that exists.
 * Throws 404, 504 for a version from the future, 500 for one that is no number.
 */
export async function get(
  environment: Environment,
  target: Target,
  { resourceVersion }: GetOptions,
): Promise<Item> {
  const asked = resourceVersion === "" ? 0n : parseVersion(resourceVersion);
  if (asked === undefined) throw plainFailure(malformedVersion(resourceVersion));
  const key = keyOf(target);
  const { entry, revision } = await environment.store.get(key, { signal: target.signal });
  if (asked > BigInt(revision)) throw tooLargeResourceVersion(asked, revision);
  if (entry === undefined) throw notFound(target.resource, target.name);
  return new StoredItem(environment, target, entry);
}

/** How Kubernetes tells that a version is no number where it expects one. */
export function malformedVersion(text: string): string {
  return `resourceVersion: Invalid value: ${JSON.stringify(text)}: ${versionFault(text)}`;
}

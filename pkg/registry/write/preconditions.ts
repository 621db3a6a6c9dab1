import { conflict, invalid, plainFailure } from "#meta";
import { Path, Problems } from "#schema";
import type { ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { storageKey, type StoredItem } from "../codec/stored.ts";

/** A whole number without sign, as Go's ParseUint reads it; undefined for anything else. */
export function parseResourceVersion(text: string): bigint | undefined {
  if (!/^\d+$/.test(text)) return undefined;
  const value = BigInt(text);
  return value < 2n ** 64n ? value : undefined;
}

/** Why `parseVersion` gave up, in Go's words. */
export function resourceVersionFault(text: string): string {
  const why = /^\d+$/.test(text) ? "value out of range" : "invalid syntax";
  return `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`;
}

/**
 * The version that the client changed must be the one that stands there; without a version the kind
 * decides. Throws 409, 422 or 500.
 */
export function checkResourceVersion(
  request: ResourceRequest,
  metadata: any,
  current: number,
): void {
  const text: string = metadata.resourceVersion ?? "";
  const version = text === "" ? 0n : parseResourceVersion(text);
  if (version === undefined) throw plainFailure(resourceVersionFault(text));
  const { resource, name } = request;
  if (version === 0n) {
    if (!resource.kind.rules.unconditionalUpdate) throw versionMissing(request);
  } else if (version !== BigInt(current)) {
    throw conflict(resource, name);
  }
  metadata.resourceVersion = String(current);
}

/** Kubernetes names the resource here where it otherwise names the kind. */
function versionMissing({ resource, name }: ResourceRequest): Error {
  const problems = new Problems();
  problems.invalid(Path.of("metadata.resourceVersion"), 0, "must be specified for an update");
  return invalid({ group: resource.group, kind: resource.plural }, name, problems);
}

interface Expected {
  readonly uid: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly current: StoredItem | undefined;
}

/**
 * Throws 409 unless what is there (if anything) has the uid and version that the client expects.
 */
export function checkPreconditions(
  registry: RegistryContext,
  request: ResourceRequest,
  { uid, resourceVersion, current }: Expected,
): void {
  const metadata = current?.object.metadata;
  const expected = [
    ["UID", uid, metadata?.uid ?? ""],
    ["ResourceVersion", resourceVersion, metadata?.resourceVersion ?? ""],
  ] as const;
  const failed = expected.find(([, wanted, actual]) => wanted !== undefined && wanted !== actual);
  if (failed === undefined) return;
  const [what, wanted, actual] = failed;
  const { resource, name } = request;
  throw conflict(
    resource,
    name,
    `StorageError: invalid object, Code: 4, Key: ${registry.storageRoot}${storageKey(request)}, ` +
      "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: " +
      `${what} in precondition: ${wanted}, ${what} in object meta: ${actual}`,
  );
}

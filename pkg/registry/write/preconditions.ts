import { conflict, invalid, plainFailure } from "#meta";
import { Path, Problems } from "#schema";
import type { ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { storageKey, type StoredItem } from "../codec/stored.ts";

/** Parses a resourceVersion like Go's `strconv.ParseUint(text, 10, 64)`; undefined for an error. */
export function parseResourceVersion(text: string): bigint | undefined {
  if (!/^\d+$/.test(text)) return undefined;
  const value = BigInt(text);
  return value < 2n ** 64n ? value : undefined;
}

/** The error of Go's `strconv.ParseUint` for a text that `parseResourceVersion` rejects. */
export function resourceVersionFault(text: string): string {
  const why = /^\d+$/.test(text) ? "value out of range" : "invalid syntax";
  return `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`;
}

/**
 * Checks the resourceVersion of an update against `current`, and sets it to that. Throws 409 if it
 * differs, 422 if it is absent and the kind does not allow unconditional updates, 500 if it is malformed.
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
    if (!resource.kind.rules.unconditionalUpdate) throw missingResourceVersion(request);
  } else if (version !== BigInt(current)) {
    throw conflict(resource, name);
  }
  metadata.resourceVersion = String(current);
}

/** The 422 of an update without resourceVersion; kube-apiserver names the resource, not the kind. */
function missingResourceVersion({ resource, name }: ResourceRequest): Error {
  const problems = new Problems();
  problems.invalid(Path.of("metadata.resourceVersion"), 0, "must be specified for an update");
  return invalid({ group: resource.group, kind: resource.plural }, name, problems);
}

interface Preconditions {
  readonly uid: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly current: StoredItem | undefined;
}

/**
 * Throws 409 unless the stored object has the uid and resourceVersion of the preconditions; the error
 * is that of apiserver's etcd3 store.
 */
export function checkPreconditions(
  registry: RegistryContext,
  request: ResourceRequest,
  { uid, resourceVersion, current }: Preconditions,
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

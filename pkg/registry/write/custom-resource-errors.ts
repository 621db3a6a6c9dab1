import { badRequest, forbidden, invalid, type Resource, tooManyRequests } from "#meta";
import { Path, Problems } from "#schema";
import type { ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import type { TypeMeta } from "../codec/type-meta.ts";

/** What the registry tells clients of custom resources in other words than of built-in kinds. */

/** Throws 400 for another version, 422 for another kind. */
export function checkCustomTypeMeta(resource: Resource, named: TypeMeta, name: string): void {
  const { groupVersion } = resource;
  if (named.apiVersion !== groupVersion) {
    throw badRequest(
      `the API version in the data (${named.apiVersion}) does not match ` +
        `the expected API version (${groupVersion})`,
    );
  }
  checkSameKind(resource, named, name);
}

/** Throws 422 unless the object that a patch has made is what it was. */
export function checkSameKind(
  { group, groupVersion, kind }: Resource,
  named: TypeMeta,
  name: string,
): void {
  const problems = new Problems();
  if (named.kind !== kind.kind) {
    problems.invalid(Path.of("kind"), named.kind, `must be ${kind.kind}`);
  }
  if (named.apiVersion !== groupVersion) {
    problems.invalid(Path.of("apiVersion"), named.apiVersion, `must be ${groupVersion}`);
  }
  if (!problems.empty) throw invalid({ group, kind: named.kind }, name, problems);
}

/** The name in an object's metadata, as far as that can be read. */
export function nameIn(value: unknown): string {
  const { metadata } = (value ?? {}) as { readonly metadata?: { readonly name?: unknown } };
  const name = metadata?.name;
  return typeof name === "string" ? name : "";
}

/**
 * Throws 429 once the definition has gone, or serves something else: what was checked against the
 * schema of before must not be written any more.
 */
export function refuseChangedDefinition(
  { catalog }: RegistryContext,
  { resource }: ResourceRequest,
): void {
  if (resource.kind.custom === undefined || catalog.serves(resource)) return;
  throw tooManyRequests("storage is (re)initializing");
}

/** Refuses creations while the definition of the resource is being removed. @throws 403 */
export function refuseTerminatingDefinition({ resource }: ResourceRequest, object: any): void {
  if (resource.kind.custom?.terminating !== true) return;
  const why = "create not allowed while custom resource definition is terminating";
  throw forbidden(resource, object?.metadata?.name ?? "", why);
}

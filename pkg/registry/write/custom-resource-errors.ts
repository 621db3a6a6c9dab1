import { badRequest, forbidden, invalid, type Resource, tooManyRequests } from "#meta";
import { Path, Problems } from "#schema";
import type { ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import type { TypeMeta } from "../codec/type-meta.ts";
import { matchName } from "./metadata.ts";

/** Checks whose errors differ between custom resources and built-in kinds. */

/**
 * Throws 400 if the body names another apiVersion than the path or another name than the path of an
 * update, 422 if it names another kind.
 */
export function checkCustomTypeMeta(request: ResourceRequest, named: TypeMeta, name: string): void {
  const { resource } = request;
  const { groupVersion } = resource;
  if (named.apiVersion !== groupVersion) {
    throw badRequest(
      `the API version in the data (${named.apiVersion}) does not match ` +
        `the expected API version (${groupVersion})`,
    );
  }
  if (request.name !== "") matchName(request, { name });
  checkSameKind(resource, named, name);
}

/** Throws 422 if a patch changed the kind or apiVersion of the object. */
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

/** The value of metadata.name in a parsed body; "" if it is absent or not a string. */
export function nameIn(value: unknown): string {
  const { metadata } = (value ?? {}) as { readonly metadata?: { readonly name?: unknown } };
  const name = metadata?.name;
  return typeof name === "string" ? name : "";
}

/**
 * Throws 429 if the CustomResourceDefinition was deleted or changed since the request began: an object
 * validated against the old schema must not be stored.
 */
export function refuseChangedDefinition(
  { catalog }: RegistryContext,
  { resource }: ResourceRequest,
): void {
  if (resource.kind.custom === undefined || catalog.serves(resource)) return;
  throw tooManyRequests("storage is (re)initializing");
}

/** Throws 403 for creates while the CustomResourceDefinition is terminating. */
export function refuseTerminatingDefinition({ resource }: ResourceRequest, object: any): void {
  if (resource.kind.custom?.terminating !== true) return;
  const why = "create not allowed while custom resource definition is terminating";
  throw forbidden(resource, object?.metadata?.name ?? "", why);
}

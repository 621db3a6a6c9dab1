import { badRequest, groupVersionOf, type Resource } from "#meta";
import { DecodeFault } from "#schema";
import type { RegistryContext } from "../context.ts";
import { jsonType } from "./json-type.ts";
import { removedResource } from "./removed-versions.ts";

/** apiVersion and kind as an object has them; "" if absent. */
export interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The type of apiserver's `findKind` struct in Go's error messages. */
const goStruct =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; ' +
  'Kind string "json:\\"kind,omitempty\\"" }';

/** Throws DecodeFault with Go's message unless the value is an object and the fields are strings. */
export function jsonTypeMeta(value: unknown): TypeMeta {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw fault(`Go value of type ${goStruct}`, value);
  }
  return { apiVersion: textIn(value, "apiVersion"), kind: textIn(value, "kind") };
}

function textIn(value: object, field: "apiVersion" | "kind"): string {
  const text: unknown = (value as Readonly<Record<string, unknown>>)[field];
  if (text === undefined || text === null) return "";
  if (typeof text !== "string") throw fault(`Go struct field .${field} of type string`, text);
  return text;
}

function fault(into: string, value: unknown): DecodeFault {
  const message = `json: cannot unmarshal ${jsonType(value)} into ${into}`;
  return new DecodeFault(`couldn't get version/kind; json parse error: ${message}`);
}

/** Throws 400 unless the body has the kind and version of the resource. */
export function checkTypeMeta(
  registry: RegistryContext,
  resource: Resource,
  typeMeta: TypeMeta,
): void {
  if (typeMeta.kind === resource.kind.kind && typeMeta.apiVersion === resource.groupVersion) return;
  const why = kindFault(registry, resource, typeMeta);
  if (why !== undefined) throw cannotHandle(resource, typeMeta, why);
  throw badRequest(
    `the API version in the data (${typeMeta.apiVersion}) does not match ` +
      `the expected API version (${resource.groupVersion})`,
  );
}

/** The decoder's words about another kind than the resource's; undefined for another version of it. */
export function kindFault(
  registry: RegistryContext,
  resource: Resource,
  typeMeta: TypeMeta,
): string | undefined {
  const found = knownKind(registry, typeMeta);
  if (found === undefined) return unregisteredKind(typeMeta);
  if (found !== "list" && found.kind === resource.kind) return undefined;
  return unknownConversion(typeMeta, { group: resource.hub.group, kind: resource.kind.kind });
}

/** What the decoder says of a kind that no scheme has. */
export function unregisteredKind({ kind, apiVersion }: TypeMeta): string {
  const [name, version] = [JSON.stringify(kind), JSON.stringify(apiVersion)];
  const scheme = '"pkg/api/legacyscheme/scheme.go:30"';
  return `no kind ${name} is registered for version ${version} in scheme ${scheme}`;
}

/** What the decoder says of a registered kind that is not the expected one. */
export function unknownConversion(
  { kind, apiVersion }: TypeMeta,
  expected: { readonly group: string; readonly kind: string },
): string {
  const version = apiVersion.split("/").at(-1) ?? "";
  const goPackage = expected.group === "" ? "core" : (expected.group.split(".")[0] ?? "");
  return `converting (${version}.${kind}) to (${goPackage}.${expected.kind}): unknown conversion`;
}

/** The resource of a registered type, in any current or former version; "list" for list types. */
function knownKind(
  { catalog, subresourceKinds }: RegistryContext,
  typeMeta: TypeMeta,
): Resource | "list" | undefined {
  const { apiVersion, kind: name } = typeMeta;
  const found = catalog.findKind(apiVersion, name) ?? subresourceKinds.findKind(apiVersion, name);
  if (found !== undefined) return found;
  const [group = ""] = apiVersion.includes("/") ? apiVersion.split("/") : [];
  const related = catalog.inGroup(group);
  const former =
    related.find((resource) => wasServed(resource, typeMeta)) ?? removedResource(catalog, typeMeta);
  if (former !== undefined) return former;
  const ofLists = related.some(
    ({ groupVersion, kind }) =>
      groupVersion === typeMeta.apiVersion && kind.listKind === typeMeta.kind,
  );
  return ofLists || (typeMeta.kind === "List" && typeMeta.apiVersion === "v1") ? "list" : undefined;
}

function wasServed({ group, kind }: Resource, typeMeta: TypeMeta): boolean {
  if (kind.kind !== typeMeta.kind) return false;
  const { formerVersions = [] } = kind;
  return formerVersions.some((version) => groupVersionOf(group, version) === typeMeta.apiVersion);
}

/** 400: the body cannot be decoded as, or converted to, the kind of the path. */
export function cannotHandle({ kind }: Resource, typeMeta: TypeMeta, why: string): Error {
  const version = typeMeta.apiVersion.split("/").at(-1) ?? "";
  return badRequest(
    `${typeMeta.kind} in version ${JSON.stringify(version)} ` +
      `cannot be handled as a ${kind.kind}: ${why}`,
  );
}

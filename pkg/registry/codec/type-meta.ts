import { badRequest, goQuote, groupVersionOf, type Resource } from "#meta";
import { DecodeFault } from "#schema";
import type { RegistryContext } from "../context.ts";
import { jsonType } from "./json-type.ts";
import { removedResource } from "./removed-versions.ts";
import { hasOtherKind, isCommonKind, isDecodedBy, type Scheme, schemeOf } from "./schemes.ts";

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
  const scheme = schemeOf(resource);
  const found = knownKind(registry, scheme, typeMeta);
  if (found === undefined) return unregisteredKind(typeMeta, scheme);
  if (typeof found === "object" && found.kind === resource.kind) return undefined;
  const named = isCommonKind(scheme, typeMeta.kind) ? { ...typeMeta, apiVersion: "v1" } : typeMeta;
  return unknownConversion(named, { group: resource.hub.group, kind: resource.kind.kind });
}

/** What a decoder says of a kind that its scheme does not have. */
export function unregisteredKind({ kind, apiVersion }: TypeMeta, { source }: Scheme): string {
  const [name, version] = [goQuote(kind), goQuote(apiVersion)];
  return `no kind ${name} is registered for version ${version} in scheme "${source}"`;
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

/** The resource of a kind that the scheme has, in any current or former version; or what else it is. */
function knownKind(
  { catalog, subresourceKinds }: RegistryContext,
  scheme: Scheme,
  typeMeta: TypeMeta,
): Resource | "list" | "other" | undefined {
  const { apiVersion, kind: name } = typeMeta;
  const found = catalog.findKind(apiVersion, name) ?? subresourceKinds.findKind(apiVersion, name);
  if (found !== undefined && isDecodedBy(scheme, found)) return found;
  const [group = ""] = apiVersion.includes("/") ? apiVersion.split("/") : [];
  const related = catalog.inGroup(group).filter((each) => isDecodedBy(scheme, each));
  const former =
    related.find((resource) => wasServed(resource, typeMeta)) ?? removedResource(catalog, typeMeta);
  if (former !== undefined && isDecodedBy(scheme, former)) return former;
  const isList = related.some(
    ({ groupVersion, kind }) =>
      groupVersion === typeMeta.apiVersion && kind.listKind === typeMeta.kind,
  );
  if (isList) return "list";
  return hasOtherKind(scheme, catalog, typeMeta) ? "other" : undefined;
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

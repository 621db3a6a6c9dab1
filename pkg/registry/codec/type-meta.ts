import { badRequest, groupVersionOf, type Resource } from "#meta";
import { DecodeFault } from "#schema";
import type { RegistryContext } from "../context.ts";
import { jsonType } from "./json-type.ts";
import { removedResource } from "./removed-versions.ts";

/** What an object says that it is. */
export interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

/** How Go prints the struct that reads these two fields. */
const goStruct =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; ' +
  'Kind string "json:\\"kind,omitempty\\"" }';

/** Throws DecodeFault in Go's words if the value is no object or the fields are no strings. */
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

/** Throws 400 unless the body is an object of the kind and version that the path leads to. */
export function checkTypeMeta(
  registry: RegistryContext,
  resource: Resource,
  named: TypeMeta,
): void {
  if (named.kind === resource.kind.kind && named.apiVersion === resource.groupVersion) return;
  const found = knownKind(registry, named);
  if (found === undefined) {
    const [kind, version] = [named.kind, named.apiVersion].map((text) => JSON.stringify(text));
    const scheme = '"pkg/api/legacyscheme/scheme.go:30"';
    const why = `no kind ${kind} is registered for version ${version} in scheme ${scheme}`;
    throw cannotHandle(resource, named, why);
  }
  if (found !== "list" && found.kind === resource.kind) {
    throw badRequest(
      `the API version in the data (${named.apiVersion}) does not match ` +
        `the expected API version (${resource.groupVersion})`,
    );
  }
  const version = named.apiVersion.split("/").at(-1) ?? "";
  const own = resource.hub.group === "" ? "core" : (resource.hub.group.split(".")[0] ?? "");
  const types = `(${version}.${named.kind}) to (${own}.${resource.kind.kind})`;
  throw cannotHandle(resource, named, `converting ${types}: unknown conversion`);
}

function knownKind(
  { catalog, subresourceKinds }: RegistryContext,
  named: TypeMeta,
): Resource | "list" | undefined {
  const { apiVersion, kind: name } = named;
  const found = catalog.findKind(apiVersion, name) ?? subresourceKinds.findKind(apiVersion, name);
  if (found !== undefined) return found;
  const [group = ""] = apiVersion.includes("/") ? apiVersion.split("/") : [];
  const related = catalog.inGroup(group);
  const former =
    related.find((resource) => wasServed(resource, named)) ?? removedResource(catalog, named);
  if (former !== undefined) return former;
  const ofLists = related.some(
    ({ groupVersion, kind }) => groupVersion === named.apiVersion && kind.listKind === named.kind,
  );
  return ofLists || (named.kind === "List" && named.apiVersion === "v1") ? "list" : undefined;
}

function wasServed({ group, kind }: Resource, named: TypeMeta): boolean {
  if (kind.kind !== named.kind) return false;
  const { formerVersions = [] } = kind;
  return formerVersions.some((version) => groupVersionOf(group, version) === named.apiVersion);
}

/** 400: the body is of a kind, but cannot be read as the one that the path leads to. */
export function cannotHandle({ kind }: Resource, named: TypeMeta, why: string): Error {
  const version = named.apiVersion.split("/").at(-1) ?? "";
  return badRequest(
    `${named.kind} in version ${JSON.stringify(version)} ` +
      `cannot be handled as a ${kind.kind}: ${why}`,
  );
}

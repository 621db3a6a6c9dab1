/**
 * What an operation of an OpenAPI document consists of, and how one is made: parameters, paths, and
 * what the operations of one resource share. Both OpenAPI versions are printed from this form.
 */
import type { Domain, Resource } from "#meta";
import type { Field, GroupVersionKind, StructType, Type } from "#schema";
import { structs } from "#schema";

export type Method = "get" | "put" | "post" | "delete" | "options" | "head" | "patch";

export interface Parameter {
  readonly name: string;
  readonly in: "query" | "path";
  readonly description: string;
  readonly type: "string" | "integer" | "boolean";
}

export interface Body {
  readonly media: readonly string[];
  readonly struct: StructType<any>;
  readonly required: boolean;
}

export interface Operation {
  readonly method: Method;
  readonly id: string;
  readonly description: string;
  readonly tag: string;
  /** `x-kubernetes-action` and the kind it is about; absent for documents about the API itself. */
  readonly about?: { readonly action: string; readonly kind: GroupVersionKind };
  readonly parameters: readonly Parameter[];
  readonly body?: Body;
  /** Success codes, all with the same content. */
  readonly codes: readonly (200 | 201 | 202)[];
  /** Struct of the response body; `text` for a plain string. */
  readonly response: StructType<any> | "text";
  /** The response may be a stream of watch events. */
  readonly streams: boolean;
  /** Media types of the response. By default those of objects. */
  readonly media?: readonly string[];
  /** Media types in `consumes` (Swagger 2) without a body. By default any; empty = left out. */
  readonly consumes?: readonly string[];
}

export interface PathItem {
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly operations: readonly Operation[];
}

/** Schema of patch bodies, whose form depends on the media type. */
export const patch = structs("apimachinery/pkg/apis/meta/v1")(
  "Patch",
  "Patch of an object: JSON patch, merge patch, strategic merge patch or apply configuration, " +
    "according to the media type of the request.",
  {},
);

export const patchMedia: readonly string[] = [
  "application/apply-patch+yaml",
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
];

const customPatchMedia = patchMedia.filter((media) => !media.includes("strategic"));
const textMedia: readonly string[] = ["application/json", "application/yaml"];

export const pretty: Parameter = {
  name: "pretty",
  in: "query",
  description:
    "`true` indents the JSON response. Defaults to true for browsers, curl and Wget, otherwise " +
    "to false.",
  type: "string",
};
const namespaceParameter: Parameter = {
  name: "namespace",
  in: "path",
  description: "Namespace of the object, or of the listed objects.",
  type: "string",
};
export const nameParameter: Parameter = {
  name: "name",
  in: "path",
  description: "Name of the object.",
  type: "string",
};

/** Query parameters from the fields of an options struct but those of `omit`, sorted by name. */
export function queryOf(struct: StructType<any>, omit: readonly string[] = []): Parameter[] {
  return Object.entries<Field>(struct.fields)
    .filter(([name, { type }]) => !omit.includes(name) && queryType(type) !== undefined)
    .map(([name, field]) => ({
      name,
      in: "query" as const,
      description: field.doc,
      type: queryType(field.type) ?? "string",
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * A list is published as one parameter of its element's type. Times are not published at all, as in
 * Kubernetes (sinceTime of a log).
 */
function queryType(type: Type): Parameter["type"] | undefined {
  if (type.tag === "list") return queryType(type.element);
  if (type.tag === "bool") return "boolean";
  if (type.tag === "int32" || type.tag === "int64") return "integer";
  return type.tag === "scalar" ? undefined : "string";
}

/**
 * `core`, `apps`, `rbacAuthorization`, `exampleCom`: the group in names that must be identifiers.
 */
export function groupIdentifier(group: string, domain: Domain): string {
  if (group === "") return "core";
  const suffix = `.${domain.api}`;
  const short = group.endsWith(suffix) ? group.slice(0, -suffix.length) : group;
  const [first = "", ...rest] = short.split(/[.-]/);
  return first + rest.map(capitalized).join("");
}

export function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** What the operations of one resource have in common. */
export interface Site {
  readonly resource: Resource;
  readonly kind: GroupVersionKind;
  /** `CoreV1`, between the verb and the kind in operation ids. */
  readonly place: string;
  readonly tag: string;
  readonly base: string;
  readonly domain: Domain;
}

export function isNamespaced({ resource }: Site): boolean {
  return resource.kind.scope === "Namespaced";
}

/** `Namespaced` in operation ids of namespaced kinds. */
export function scopeWord(site: Site): string {
  return isNamespaced(site) ? "Namespaced" : "";
}

export function collectionPath(site: Site, root = site.base): string {
  const scope = isNamespaced(site) ? "/namespaces/{namespace}" : "";
  return `${root}${scope}/${site.resource.plural}`;
}

export function scopeParameters(site: Site): readonly Parameter[] {
  return isNamespaced(site) ? [namespaceParameter] : [];
}

/** Moves the parameters that all operations of a path share to the path. */
export function pathItem(
  path: string,
  parameters: readonly Parameter[],
  operations: readonly Operation[],
): PathItem {
  const shared = (operations[0]?.parameters ?? []).filter(({ name }) =>
    operations.every((operation) => operation.parameters.some((other) => other.name === name)),
  );
  const isOwn = (parameter: Parameter) => !shared.some(({ name }) => name === parameter.name);
  return {
    path,
    parameters: sortedByName([...parameters, ...shared, pretty]),
    operations: operations.map((operation) => ({
      ...operation,
      parameters: operation.parameters.filter(isOwn),
    })),
  };
}

export function operation(
  site: Site,
  action: string,
  rest: Omit<Operation, "tag" | "about" | "streams"> & { readonly streams?: boolean },
): Operation {
  const about = { action, kind: site.kind };
  const made: Operation = { tag: site.tag, about, streams: false, ...rest };
  return site.resource.kind.custom === undefined ? made : asText(made);
}

/** Custom resources have neither a Protobuf form nor strategic merge patches. */
export function asText(made: Operation): Operation {
  const { body, method } = made;
  if (body === undefined) return { ...made, media: textMedia };
  const media = method === "patch" ? customPatchMedia : textMedia;
  return { ...made, media: textMedia, body: { ...body, media } };
}

export function sortedByName(parameters: readonly Parameter[]): Parameter[] {
  return [...parameters].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Operations, parameters and paths in the form from which both OpenAPI versions are printed. */
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
  /** `x-kubernetes-action` and `x-kubernetes-group-version-kind`; absent for discovery and the like. */
  readonly about?: { readonly action: string; readonly kind: GroupVersionKind };
  readonly parameters: readonly Parameter[];
  readonly body?: Body;
  /** Success codes, all with the same content. */
  readonly codes: readonly (200 | 201 | 202)[];
  /** Struct of the response body; `text` for a plain string. */
  readonly response: StructType<any> | "text";
  /** The response may be a stream of watch events. */
  readonly streams: boolean;
  /** Media types of the response; default: those of objects. */
  readonly media?: readonly string[];
  /** `consumes` (Swagger 2.0) of an operation without body; default any type, empty = omitted. */
  readonly consumes?: readonly string[];
}

export interface PathItem {
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly operations: readonly Operation[];
}

/** Schema of patch bodies; their format depends on the media type. */
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

/** Query parameters from the fields of an options struct except `omit`, sorted by name. */
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
 * The type of a query parameter: a list has the type of its elements. Undefined for times, which
 * Kubernetes does not publish (`sinceTime` of a log).
 */
function queryType(type: Type): Parameter["type"] | undefined {
  if (type.tag === "list") return queryType(type.element);
  if (type.tag === "bool") return "boolean";
  if (type.tag === "int32" || type.tag === "int64") return "integer";
  return type.tag === "scalar" ? undefined : "string";
}

/** The group as an identifier: `core`, `apps`, `rbacAuthorization`, `exampleCom`. */
export function groupIdentifier(group: string, domain: Domain): string {
  if (group === "") return "core";
  const suffix = `.${domain.api}`;
  const shortName = group.endsWith(suffix) ? group.slice(0, -suffix.length) : group;
  const [first = "", ...rest] = shortName.split(/[.-]/);
  return first + rest.map(capitalized).join("");
}

export function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** The properties that the operations of a resource share. */
export interface OperationContext {
  readonly resource: Resource;
  readonly kind: GroupVersionKind;
  /** Group and version in operation ids, between verb and kind: `CoreV1`. */
  readonly groupVersionId: string;
  readonly tag: string;
  /** Path of the group version: `/api/v1`. */
  readonly base: string;
  readonly domain: Domain;
}

export function isNamespaced({ resource }: OperationContext): boolean {
  return resource.kind.scope === "Namespaced";
}

/** `Namespaced` in operation ids of namespaced kinds. */
export function scopeWord(context: OperationContext): string {
  return isNamespaced(context) ? "Namespaced" : "";
}

export function collectionPath(context: OperationContext, root = context.base): string {
  const scope = isNamespaced(context) ? "/namespaces/{namespace}" : "";
  return `${root}${scope}/${context.resource.plural}`;
}

export function scopeParameters(context: OperationContext): readonly Parameter[] {
  return isNamespaced(context) ? [namespaceParameter] : [];
}

/** A path item; parameters that all its operations share are moved to the path. */
export function pathItem(
  path: string,
  parameters: readonly Parameter[],
  operations: readonly Operation[],
): PathItem {
  const shared = (operations[0]?.parameters ?? []).filter(({ name }) =>
    operations.every((operation) => operation.parameters.some((other) => other.name === name)),
  );
  const isNotShared = (parameter: Parameter) => !shared.some(({ name }) => name === parameter.name);
  return {
    path,
    parameters: sortedByName([...parameters, ...shared, pretty]),
    operations: operations.map((operation) => ({
      ...operation,
      parameters: operation.parameters.filter(isNotShared),
    })),
  };
}

export function operation(
  context: OperationContext,
  action: string,
  rest: Omit<Operation, "tag" | "about" | "streams"> & { readonly streams?: boolean },
): Operation {
  const about = { action, kind: context.kind };
  const complete: Operation = { tag: context.tag, about, streams: false, ...rest };
  return context.resource.kind.custom === undefined ? complete : customOperation(complete);
}

/** Restricts media types to those of custom resources: no Protobuf, no strategic merge patch. */
function customOperation(builtIn: Operation): Operation {
  const { body, method } = builtIn;
  if (body === undefined) return { ...builtIn, media: textMedia };
  const media = method === "patch" ? customPatchMedia : textMedia;
  return { ...builtIn, media: textMedia, body: { ...body, media } };
}

export function sortedByName(parameters: readonly Parameter[]): Parameter[] {
  return [...parameters].sort((a, b) => (a.name < b.name ? -1 : 1));
}

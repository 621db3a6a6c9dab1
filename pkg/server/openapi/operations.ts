/** What can be done under which path, in a form that either OpenAPI version can be printed from. */
import {
  createOptions,
  deleteOptions,
  listOptions,
  patchOptions,
  status,
  updateOptions,
  watchEvent,
} from "#api";
import type { Domain, Resource, Subresource } from "#meta";
import type { Field, GroupVersionKind, StructType } from "#schema";
import { structs } from "#schema";
import { listStruct, representedKind } from "./roots.ts";

type Method = "get" | "put" | "post" | "delete" | "patch";

export interface Parameter {
  readonly name: string;
  readonly in: "query" | "path";
  readonly description: string;
  readonly type: "string" | "integer" | "boolean";
}

export interface Body {
  readonly media: readonly string[];
  readonly struct: StructType<any> | undefined;
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
  /** undefined: a body of a shape that is not described here. */
  readonly response: StructType<any> | undefined;
  /** Also served as a stream of changes. */
  readonly streams: boolean;
  /** Forms of the response where they are not those of objects. */
  readonly media?: readonly string[];
}

export interface PathItem {
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly operations: readonly Operation[];
}

/** A patch is whatever its media type says. */
export const patch = structs("apimachinery/pkg/apis/meta/v1")(
  "Patch",
  "A change to an object, in the form that the media type names.",
  {},
);

const patchMedia: readonly string[] = [
  "application/apply-patch+yaml",
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
];

const customPatchMedia = patchMedia.filter((media) => !media.includes("strategic"));
const textMedia: readonly string[] = ["application/json", "application/yaml"];

const pretty: Parameter = {
  name: "pretty",
  in: "query",
  description: "`true` indents the response; browsers, curl and Wget get it so without asking.",
  type: "string",
};
const namespaceParameter: Parameter = {
  name: "namespace",
  in: "path",
  description: "Namespace of the objects.",
  type: "string",
};
const nameParameter: Parameter = {
  name: "name",
  in: "path",
  description: "Name of the object.",
  type: "string",
};

/** Query parameters are the fields of an options struct, by name, without those of `omit`. */
function queryOf(struct: StructType<any>, omit: readonly string[] = []): Parameter[] {
  return Object.entries<Field>(struct.fields)
    .filter(([name]) => !omit.includes(name))
    .map(([name, field]) => ({
      name,
      in: "query" as const,
      description: field.doc,
      type: queryType(field.type.tag),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function queryType(tag: string): Parameter["type"] {
  if (tag === "bool") return "boolean";
  return tag === "int32" || tag === "int64" ? "integer" : "string";
}

const readParameters = queryOf(listOptions).filter(({ name }) => name === "resourceVersion");

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
interface Site {
  readonly resource: Resource;
  readonly kind: GroupVersionKind;
  /** `CoreV1`, between the verb and the kind in operation ids. */
  readonly place: string;
  readonly tag: string;
  readonly base: string;
  readonly domain: Domain;
}

/** Every path of a resource: collection, single object, subresources and the old watch paths. */
export function pathsOf(resource: Resource, domain: Domain): PathItem[] {
  const identifier = groupIdentifier(resource.group, domain);
  const prefix = resource.group === "" ? "/api" : "/apis";
  const site: Site = {
    resource,
    kind: { group: resource.group, version: resource.version, kind: resource.kind.kind },
    place: capitalized(identifier) + capitalized(resource.version),
    tag: `${identifier}_${resource.version}`,
    base: `${prefix}/${resource.groupVersion}`,
    domain,
  };
  const items = [
    ...(resource.kind.scope === "Namespaced" ? [allNamespaces(site)] : []),
    collection(site),
    single(site),
    ...resource.kind.subresources.map((subresource) => below(site, subresource)),
    ...(hasWatchPaths(resource) ? watchPaths(site) : []),
  ];
  return items.filter((item) => item.operations.length > 0);
}

/** Custom resources are younger than the old watch paths, which Kubernetes hides for them. */
function hasWatchPaths({ kind }: Resource): boolean {
  return kind.custom === undefined && kind.verbs.includes("watch");
}

function isNamespaced({ resource }: Site): boolean {
  return resource.kind.scope === "Namespaced";
}

/** `Namespaced` in operation ids of namespaced kinds. */
function scopeWord(site: Site): string {
  return isNamespaced(site) ? "Namespaced" : "";
}

function collectionPath(site: Site, root = site.base): string {
  const scope = isNamespaced(site) ? "/namespaces/{namespace}" : "";
  return `${root}${scope}/${site.resource.plural}`;
}

function scopeParameters(site: Site): readonly Parameter[] {
  return isNamespaced(site) ? [namespaceParameter] : [];
}

/** Parameters that every operation of a path has are said once, for the path. */
function pathItem(
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
    parameters: [...parameters, ...shared, pretty].sort((a, b) => (a.name < b.name ? -1 : 1)),
    operations: operations.map((operation) => ({
      ...operation,
      parameters: operation.parameters.filter(isOwn),
    })),
  };
}

function operation(
  site: Site,
  action: string,
  rest: Omit<Operation, "tag" | "about" | "streams"> & { readonly streams?: boolean },
): Operation {
  const about = { action, kind: site.kind };
  const made: Operation = { tag: site.tag, about, streams: false, ...rest };
  return site.resource.kind.custom === undefined ? made : asText(made);
}

/** Custom resources have no Protobuf form, and their lists no strategies. */
function asText(made: Operation): Operation {
  const { body, method } = made;
  if (body === undefined) return { ...made, media: textMedia };
  const media = method === "patch" ? customPatchMedia : textMedia;
  return { ...made, media: textMedia, body: { ...body, media } };
}

function listOperation(site: Site, id: string): Operation {
  return operation(site, "list", {
    method: "get",
    id,
    description: `List or watch objects of kind ${site.kind.kind}.`,
    parameters: queryOf(listOptions),
    codes: [200],
    response: listStruct(site.resource),
    streams: true,
  });
}

function allNamespaces(site: Site): PathItem {
  const { resource, place, kind } = site;
  const id = `list${place}${kind.kind}ForAllNamespaces`;
  const listed = resource.kind.verbs.includes("list") ? [listOperation(site, id)] : [];
  return pathItem(`${site.base}/${resource.plural}`, [], listed);
}

function collection(site: Site): PathItem {
  const { resource, place, kind } = site;
  const { verbs } = resource.kind;
  const scope = scopeWord(site);
  const operations: Operation[] = [];
  if (verbs.includes("deletecollection")) {
    operations.push(
      operation(site, "deletecollection", {
        method: "delete",
        id: `delete${place}Collection${scope}${kind.kind}`,
        description: `Delete a collection of ${kind.kind}.`,
        parameters: [
          ...queryOf(listOptions, ["allowWatchBookmarks", "watch"]),
          ...queryOf(deleteOptions, ["preconditions"]),
        ].sort((a, b) => (a.name < b.name ? -1 : 1)),
        body: { media: ["*/*"], struct: deleteOptions, required: false },
        codes: [200],
        response: status,
      }),
    );
  }
  if (verbs.includes("list")) {
    operations.push(listOperation(site, `list${place}${scope}${kind.kind}`));
  }
  if (verbs.includes("create")) {
    operations.push(
      operation(site, "post", {
        method: "post",
        id: `create${place}${scope}${kind.kind}`,
        description: `Create an object of kind ${kind.kind}.`,
        parameters: queryOf(createOptions),
        body: { media: ["*/*"], struct: resource.struct, required: true },
        codes: [200, 201, 202],
        response: resource.struct,
      }),
    );
  }
  return pathItem(collectionPath(site), scopeParameters(site), operations);
}

function single(site: Site): PathItem {
  const { resource } = site;
  const target: Target = { struct: resource.struct, suffix: "", what: site.kind.kind };
  const operations: Operation[] = [];
  if (resource.kind.verbs.includes("delete")) {
    operations.push(
      operation(site, "delete", {
        method: "delete",
        id: `delete${site.place}${scopeWord(site)}${site.kind.kind}`,
        description: `Delete one ${site.kind.kind}.`,
        parameters: queryOf(deleteOptions, ["preconditions"]),
        body: { media: ["*/*"], struct: deleteOptions, required: false },
        codes: [200, 202],
        response: resource.kind.rules.deleteReturnsObject ? resource.struct : status,
      }),
    );
  }
  operations.push(...readAndWrite(site, target, resource.kind.verbs));
  const parameters = [nameParameter, ...scopeParameters(site)];
  return pathItem(`${collectionPath(site)}/{name}`, parameters, operations);
}

function below(site: Site, subresource: Subresource): PathItem {
  const { resource } = site;
  const represented = representedKind(resource, subresource, site.domain);
  const target: Target = {
    struct: represented.struct,
    suffix: capitalized(subresource.name),
    what: `${subresource.name} of one ${resource.kind.kind}`,
  };
  // Operations on custom resources are all about the resource's own kind.
  const own = resource.kind.custom === undefined ? { ...site, kind: represented.kind } : site;
  const operations = readAndWrite(own, target, subresource.verbs, site.kind.kind);
  const parameters = [nameParameter, ...scopeParameters(site)];
  return pathItem(`${collectionPath(site)}/{name}/${subresource.name}`, parameters, operations);
}

interface Target {
  readonly struct: StructType<any> | undefined;
  /** At the end of operation ids. */
  readonly suffix: string;
  readonly what: string;
}

/** get, patch, replace and (for subresources) create of one object. */
function readAndWrite(
  site: Site,
  target: Target,
  verbs: readonly string[],
  parentKind?: string,
): Operation[] {
  const { struct } = target;
  const isBelow = parentKind !== undefined;
  const name = `${site.place}${scopeWord(site)}${parentKind ?? site.kind.kind}${target.suffix}`;
  const written = { body: { media: ["*/*"], struct, required: true }, response: struct } as const;
  const operations: Operation[] = [];
  const add = (action: string, rest: Parameters<typeof operation>[2]) =>
    operations.push(operation(site, action, rest));
  if (verbs.includes("get")) {
    const description = `Read ${target.what}.`;
    // Kubernetes takes the version for every kind, and says so of custom resources.
    const parameters = site.resource.kind.custom === undefined ? [] : readParameters;
    const read = { method: "get", id: `read${name}`, description, parameters } as const;
    add("get", { ...read, codes: [200], response: struct });
  }
  if (verbs.includes("patch")) {
    add("patch", {
      method: "patch",
      id: `patch${name}`,
      description: `Change parts of ${target.what}.`,
      parameters: queryOf(patchOptions),
      body: { media: patchMedia, struct: patch, required: true },
      codes: [200, 201],
      response: struct,
    });
  }
  if (isBelow && verbs.includes("create")) {
    const parameters = queryOf(createOptions);
    const description = `Create ${target.what}.`;
    const post = { method: "post", id: `create${name}`, description, parameters } as const;
    add("post", { ...post, ...written, codes: [200, 201, 202] });
  }
  if (verbs.includes("update")) {
    const parameters = queryOf(updateOptions);
    const description = `Replace ${target.what}.`;
    const put = { method: "put", id: `replace${name}`, description, parameters } as const;
    add("put", { ...put, ...written, codes: [200, 201] });
  }
  return operations;
}

/** The paths from before `?watch=true`; some old clients still know no other way. */
function watchPaths(site: Site): PathItem[] {
  const { resource, place, kind } = site;
  const scope = scopeWord(site);
  const root = `${site.base}/watch`;
  const watch = (action: string, id: string): Operation =>
    operation(site, action, {
      method: "get",
      id,
      description: `Watch ${kind.kind}; superseded by the parameter 'watch' of a list.`,
      parameters: queryOf(listOptions),
      codes: [200],
      response: watchEvent,
      streams: true,
    });
  const list = watch("watchlist", `watch${place}${scope}${kind.kind}List`);
  const one = watch("watch", `watch${place}${scope}${kind.kind}`);
  const everywhere = watch("watchlist", `watch${place}${kind.kind}ListForAllNamespaces`);
  const inScope = scopeParameters(site);
  return [
    ...(isNamespaced(site) ? [pathItem(`${root}/${resource.plural}`, [], [everywhere])] : []),
    pathItem(collectionPath(site, root), inScope, [list]),
    pathItem(`${collectionPath(site, root)}/{name}`, [nameParameter, ...inScope], [one]),
  ];
}

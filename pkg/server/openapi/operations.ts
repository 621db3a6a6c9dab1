/** Operations of resources by path, in a form that both OpenAPI versions are printed from. */
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
import type { StructType } from "#schema";
import { connectPaths, textPath } from "./connect-operations.ts";
import {
  capitalized,
  collectionPath,
  groupIdentifier,
  isNamespaced,
  nameParameter,
  type Operation,
  operation,
  patch,
  patchMedia,
  pathItem,
  type PathItem,
  queryOf,
  scopeParameters,
  scopeWord,
  type Site,
  sortedByName,
} from "./operation.ts";
import { listStruct, representedKind } from "./roots.ts";

const readParameters = queryOf(listOptions).filter(({ name }) => name === "resourceVersion");

/** Every path of a resource: collection, object, subresources and the deprecated watch paths. */
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
    ...resource.kind.subresources.flatMap((subresource) => below(site, subresource)),
    ...(hasWatchPaths(resource) ? watchPaths(site) : []),
  ];
  return items.filter((item) => item.operations.length > 0);
}

/** Kubernetes has no deprecated watch paths for custom resources. */
function hasWatchPaths({ kind }: Resource): boolean {
  return kind.custom === undefined && kind.verbs.includes("watch");
}

function listOperation(site: Site, id: string): Operation {
  return operation(site, "list", {
    method: "get",
    id,
    description: `List objects of kind ${site.kind.kind}, or watch them with watch=true.`,
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

/**
 * Kubernetes publishes the options of a list, and no body, where a collection of custom resources is
 * deleted.
 */
function collectionOptions({ kind }: Resource): Pick<Operation, "parameters" | "body"> {
  if (kind.custom !== undefined) return { parameters: queryOf(listOptions) };
  return {
    parameters: sortedByName([
      ...queryOf(listOptions, ["allowWatchBookmarks", "watch"]),
      ...queryOf(deleteOptions, ["preconditions"]),
    ]),
    body: { media: ["*/*"], struct: deleteOptions, required: false },
  };
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
        description: `Delete all objects of kind ${kind.kind} that the selectors match.`,
        ...collectionOptions(resource),
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
        description: `Create one ${kind.kind}. The name may be generated from metadata.generateName.`,
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
        description: `Delete one ${site.kind.kind}, subject to its grace period and finalizers.`,
        parameters: queryOf(deleteOptions, ["preconditions"]),
        body: { media: ["*/*"], struct: deleteOptions, required: false },
        codes: [200, 202],
        response: publishesObject(resource) ? resource.struct : status,
      }),
    );
  }
  operations.push(...readAndWrite(site, target, resource.kind.verbs));
  const parameters = [nameParameter, ...scopeParameters(site)];
  return pathItem(`${collectionPath(site)}/{name}`, parameters, operations);
}

function publishesObject({ kind: { rules } }: Resource): boolean {
  return rules.deleteReturnsObject && rules.deletePublishesStatus !== true;
}

function below(site: Site, subresource: Subresource): PathItem[] {
  if (subresource.connects !== undefined) return connectPaths(site, subresource);
  if (subresource.isText === true) return [textPath(site, subresource)];
  const { resource } = site;
  const represented = representedKind(resource, subresource, site.domain);
  const target: Target = {
    struct: represented.struct,
    suffix: capitalized(subresource.name),
    what: `the ${subresource.name} subresource of one ${resource.kind.kind}`,
  };
  // Operations on custom resources are all about the resource's own kind.
  const own = resource.kind.custom === undefined ? { ...site, kind: represented.kind } : site;
  const operations = readAndWrite(own, target, subresource.verbs, site.kind.kind);
  const parameters = [nameParameter, ...scopeParameters(site)];
  return [pathItem(`${collectionPath(site)}/{name}/${subresource.name}`, parameters, operations)];
}

interface Target {
  readonly struct: StructType<any>;
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
      description: `Patch ${target.what}: the media type of the body selects the kind of patch.`,
      parameters: queryOf(patchOptions),
      body: { media: patchMedia, struct: patch, required: true },
      codes: site.resource.kind.custom === undefined ? [200, 201] : [200],
      response: struct,
    });
  }
  if (isBelow && verbs.includes("create")) {
    const parameters = queryOf(createOptions);
    const description = `Post to ${target.what}.`;
    const post = { method: "post", id: `create${name}`, description, parameters } as const;
    add("post", { ...post, ...written, codes: [200, 201, 202] });
  }
  if (verbs.includes("update")) {
    const parameters = queryOf(updateOptions);
    const description = `Replace ${target.what} with the object in the body.`;
    const put = { method: "put", id: `replace${name}`, description, parameters } as const;
    add("put", { ...put, ...written, codes: [200, 201] });
  }
  return operations;
}

/** The deprecated paths below `/watch/`, from before the parameter `watch`. */
function watchPaths(site: Site): PathItem[] {
  const { resource, place, kind } = site;
  const scope = scopeWord(site);
  const root = `${site.base}/watch`;
  const watch = (action: string, id: string): Operation => {
    const isOne = action === "watch";
    const what = isOne ? `one ${kind.kind}` : `objects of kind ${kind.kind}`;
    const hint = isOne ? " and a field selector for metadata.name" : "";
    return operation(site, action, {
      method: "get",
      id,
      description: `Watch ${what}. Deprecated: list with watch=true instead${hint}.`,
      parameters: queryOf(listOptions),
      codes: [200],
      response: watchEvent,
      streams: true,
    });
  };
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

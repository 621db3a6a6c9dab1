/** OpenAPI operations of resources, by path. */
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
  type OperationContext,
  sortedByName,
} from "./operation.ts";
import { listStruct, representedKind } from "./roots.ts";

const readParameters = queryOf(listOptions).filter(({ name }) => name === "resourceVersion");

/** All paths of a resource: collection, object, subresources and deprecated watch paths. */
export function pathsOf(resource: Resource, domain: Domain): PathItem[] {
  const identifier = groupIdentifier(resource.group, domain);
  const prefix = resource.group === "" ? "/api" : "/apis";
  const context: OperationContext = {
    resource,
    kind: { group: resource.group, version: resource.version, kind: resource.kind.kind },
    groupVersionId: capitalized(identifier) + capitalized(resource.version),
    tag: `${identifier}_${resource.version}`,
    base: `${prefix}/${resource.groupVersion}`,
    domain,
  };
  const items = [
    ...(resource.kind.scope === "Namespaced" ? [allNamespacesPath(context)] : []),
    collectionItem(context),
    objectItem(context),
    ...resource.kind.subresources.flatMap((subresource) => subresourceItems(context, subresource)),
    ...(hasWatchPaths(resource) ? watchPaths(context) : []),
  ];
  return items.filter((item) => item.operations.length > 0);
}

/** Custom resources have no deprecated watch paths. */
function hasWatchPaths({ kind }: Resource): boolean {
  return kind.custom === undefined && kind.verbs.includes("watch");
}

function listOperation(context: OperationContext, id: string): Operation {
  return operation(context, "list", {
    method: "get",
    id,
    description: `List objects of kind ${context.kind.kind}, or watch them with watch=true.`,
    parameters: queryOf(listOptions),
    codes: [200],
    response: listStruct(context.resource),
    streams: true,
  });
}

function allNamespacesPath(context: OperationContext): PathItem {
  const { resource, groupVersionId, kind } = context;
  const id = `list${groupVersionId}${kind.kind}ForAllNamespaces`;
  const listed = resource.kind.verbs.includes("list") ? [listOperation(context, id)] : [];
  return pathItem(`${context.base}/${resource.plural}`, [], listed);
}

/**
 * Parameters and body of deletecollection. For custom resources, Kubernetes publishes the options of
 * list and no body.
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

function collectionItem(context: OperationContext): PathItem {
  const { resource, groupVersionId, kind } = context;
  const { verbs } = resource.kind;
  const scope = scopeWord(context);
  const operations: Operation[] = [];
  if (verbs.includes("deletecollection")) {
    operations.push(
      operation(context, "deletecollection", {
        method: "delete",
        id: `delete${groupVersionId}Collection${scope}${kind.kind}`,
        description: `Delete all objects of kind ${kind.kind} that the selectors match.`,
        ...collectionOptions(resource),
        codes: [200],
        response: status,
      }),
    );
  }
  if (verbs.includes("list")) {
    operations.push(listOperation(context, `list${groupVersionId}${scope}${kind.kind}`));
  }
  if (verbs.includes("create")) {
    operations.push(
      operation(context, "post", {
        method: "post",
        id: `create${groupVersionId}${scope}${kind.kind}`,
        description: `Create one ${kind.kind}. The name may be generated from metadata.generateName.`,
        parameters: queryOf(createOptions),
        body: { media: ["*/*"], struct: resource.struct, required: true },
        codes: [200, 201, 202],
        response: resource.struct,
      }),
    );
  }
  return pathItem(collectionPath(context), scopeParameters(context), operations);
}

function objectItem(context: OperationContext): PathItem {
  const { resource } = context;
  const target: Target = { struct: resource.struct, suffix: "", noun: context.kind.kind };
  const operations: Operation[] = [];
  if (resource.kind.verbs.includes("delete")) {
    operations.push(
      operation(context, "delete", {
        method: "delete",
        id: `delete${context.groupVersionId}${scopeWord(context)}${context.kind.kind}`,
        description: `Delete one ${context.kind.kind}, subject to its grace period and finalizers.`,
        parameters: queryOf(deleteOptions, ["preconditions"]),
        body: { media: ["*/*"], struct: deleteOptions, required: false },
        codes: [200, 202],
        response: publishesObject(resource) ? resource.struct : status,
      }),
    );
  }
  operations.push(...readAndWrite(context, target, resource.kind.verbs));
  const parameters = [nameParameter, ...scopeParameters(context)];
  return pathItem(`${collectionPath(context)}/{name}`, parameters, operations);
}

function publishesObject({ kind: { rules } }: Resource): boolean {
  return rules.deleteReturnsObject && rules.deletePublishesStatus !== true;
}

function subresourceItems(context: OperationContext, subresource: Subresource): PathItem[] {
  if (subresource.connects !== undefined) return connectPaths(context, subresource);
  if (subresource.isText === true) return [textPath(context, subresource)];
  const { resource } = context;
  const represented = representedKind(resource, subresource, context.domain);
  const target: Target = {
    struct: represented.struct,
    suffix: capitalized(subresource.name),
    noun: `the ${subresource.name} subresource of one ${resource.kind.kind}`,
  };
  // Operations on subresources of custom resources are published with the kind of the resource.
  const published =
    resource.kind.custom === undefined ? { ...context, kind: represented.kind } : context;
  const operations = readAndWrite(published, target, subresource.verbs, context.kind.kind);
  const parameters = [nameParameter, ...scopeParameters(context)];
  return [
    pathItem(`${collectionPath(context)}/{name}/${subresource.name}`, parameters, operations),
  ];
}

/** The object or subresource of operations. */
interface Target {
  readonly struct: StructType<any>;
  /** Suffix of operation ids. */
  readonly suffix: string;
  /** Name of the target in descriptions. */
  readonly noun: string;
}

/** The operations get, patch, replace and (for subresources) create of an object. */
function readAndWrite(
  context: OperationContext,
  target: Target,
  verbs: readonly string[],
  parentKind?: string,
): Operation[] {
  const { struct } = target;
  const isSubresource = parentKind !== undefined;
  const scope = `${context.groupVersionId}${scopeWord(context)}`;
  const name = `${scope}${parentKind ?? context.kind.kind}${target.suffix}`;
  const written = { body: { media: ["*/*"], struct, required: true }, response: struct } as const;
  const operations: Operation[] = [];
  const add = (action: string, rest: Parameters<typeof operation>[2]) =>
    operations.push(operation(context, action, rest));
  if (verbs.includes("get")) {
    const description = `Read ${target.noun}.`;
    // kube-apiserver accepts resourceVersion for every kind, but publishes it for custom resources.
    const parameters = context.resource.kind.custom === undefined ? [] : readParameters;
    const read = { method: "get", id: `read${name}`, description, parameters } as const;
    add("get", { ...read, codes: [200], response: struct });
  }
  if (verbs.includes("patch")) {
    add("patch", {
      method: "patch",
      id: `patch${name}`,
      description: `Patch ${target.noun}: the media type of the body selects the kind of patch.`,
      parameters: queryOf(patchOptions),
      body: { media: patchMedia, struct: patch, required: true },
      codes: context.resource.kind.custom === undefined ? [200, 201] : [200],
      response: struct,
    });
  }
  if (isSubresource && verbs.includes("create")) {
    const parameters = queryOf(createOptions);
    const description = `Post to ${target.noun}.`;
    const post = { method: "post", id: `create${name}`, description, parameters } as const;
    add("post", { ...post, ...written, codes: [200, 201, 202] });
  }
  if (verbs.includes("update")) {
    const parameters = queryOf(updateOptions);
    const description = `Replace ${target.noun} with the object in the body.`;
    const put = { method: "put", id: `replace${name}`, description, parameters } as const;
    add("put", { ...put, ...written, codes: [200, 201] });
  }
  return operations;
}

/** The deprecated paths below `/watch/`, which the parameter `watch` replaced. */
function watchPaths(context: OperationContext): PathItem[] {
  const { resource, groupVersionId, kind } = context;
  const scope = scopeWord(context);
  const root = `${context.base}/watch`;
  const watch = (action: string, id: string): Operation => {
    const isOne = action === "watch";
    const noun = isOne ? `one ${kind.kind}` : `objects of kind ${kind.kind}`;
    const hint = isOne ? " and a field selector for metadata.name" : "";
    return operation(context, action, {
      method: "get",
      id,
      description: `Watch ${noun}. Deprecated: list with watch=true instead${hint}.`,
      parameters: queryOf(listOptions),
      codes: [200],
      response: watchEvent,
      streams: true,
    });
  };
  const list = watch("watchlist", `watch${groupVersionId}${scope}${kind.kind}List`);
  const one = watch("watch", `watch${groupVersionId}${scope}${kind.kind}`);
  const allNamespaces = watch(
    "watchlist",
    `watch${groupVersionId}${kind.kind}ListForAllNamespaces`,
  );
  const inScope = scopeParameters(context);
  return [
    ...(isNamespaced(context) ? [pathItem(`${root}/${resource.plural}`, [], [allNamespaces])] : []),
    pathItem(collectionPath(context, root), inScope, [list]),
    pathItem(`${collectionPath(context, root)}/{name}`, [nameParameter, ...inScope], [one]),
  ];
}

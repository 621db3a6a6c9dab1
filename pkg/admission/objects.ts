import type { Awaitable } from "#base";
import { type Catalog, forbidden, ignoreNotFound, resolve, StatusError } from "#meta";
import {
  type AdmissionAttributes,
  listAll,
  type Registry,
  type RequestContext,
  loopbackRequest,
  type ResourceRequest,
} from "#registry";

/** Dependencies of the object reader. */
export interface ObjectReaderOptions {
  readonly catalog: Catalog;
  /** Called on the first request, since the registry is created after its admission. */
  readonly registry: () => Registry;
  /** Whether a feature gate is enabled. */
  readonly gates: (name: string) => boolean;
}

/** A collection that a plugin reads: group (a template), plural, namespace. */
export interface Collection {
  readonly group: string;
  readonly plural: string;
  /** Default v1. */
  readonly version?: string;
  readonly namespace?: string;
  /** Label selector of a list; absent = everything. */
  readonly labelSelector?: string;
}

const ownWrites: Parameters<Registry["get"]>[1] = { resourceVersion: "", ownWrites: true };

/**
 * Reads other objects during admission from the cache, which includes all writes of this process. Very recent
 * writes of other replicas may be missing, as in Kubernetes' informers.
 */
export class ObjectReader {
  constructor(private readonly parts: ObjectReaderOptions) {}

  /**
   * Returns an object; undefined = not found, or the kind is not served. An object that is not cached is read
   * from the store, since another replica may have created it.
   */
  find(where: Collection, name: string, life: RequestContext): Awaitable<any> {
    const target = this.target(where, life, name);
    if (target === undefined) return undefined;
    return this.parts.registry().cached(target)?.object ?? this.read(target);
  }

  private async read(target: ResourceRequest): Promise<any> {
    const registry = this.parts.registry();
    const found =
      (await registry.get(target, ownWrites).catch(ignoreNotFound)) ??
      (await registry.get(target, { resourceVersion: "" }).catch(ignoreNotFound));
    return found?.object;
  }

  /**
   * Whether the cached collection is empty, which saves most requests a list. Very recent objects of other
   * replicas may be missing, as in Kubernetes' informers.
   */
  isCachedEmpty({ group, plural, version = "v1", namespace = "" }: Collection): boolean {
    const { catalog, registry } = this.parts;
    const resource = catalog.find(resolve(group, catalog.domain), version, plural);
    return resource === undefined || registry().isKnownEmpty({ resource, namespace });
  }

  async list(where: Collection, life: RequestContext): Promise<readonly any[]> {
    if (this.isCachedEmpty(where)) return [];
    const target = this.target(where, life, "");
    if (target === undefined) return [];
    const labelSelector = resolve(where.labelSelector ?? "", this.parts.catalog.domain);
    const found = await this.parts.registry().list(target, {
      ownWrites: true,
      ...listAll,
      labelSelector,
    });
    const objects: unknown[] = [];
    for await (const items of found.chunks) for (const { object } of items) objects.push(object);
    return objects;
  }

  /** Annotation of the request's namespace; undefined = none. */
  async annotationOfNamespace(
    { namespace, context }: Pick<ResourceRequest, "namespace" | "context">,
    key: string,
  ): Promise<string | undefined> {
    const found = await this.find({ group: "", plural: "namespaces" }, namespace, context);
    const annotations: Readonly<Record<string, string>> = found?.metadata.annotations ?? {};
    const name = resolve(key, this.parts.catalog.domain);
    return Object.hasOwn(annotations, name) ? annotations[name] : undefined;
  }

  private target(where: Collection, life: RequestContext, name: string) {
    const { group, plural, version = "v1", namespace = "" } = where;
    const { catalog } = this.parts;
    const resource = catalog.find(resolve(group, catalog.domain), version, plural);
    if (resource === undefined) return undefined;
    return loopbackRequest(resource, { namespace, name }, life);
  }
}

/** Whether a request is for this resource, not a subresource. */
export function isFor({ request }: AdmissionAttributes, group: string, plural: string): boolean {
  const { resource, subresource } = request;
  return subresource === "" && resource.plural === plural && resource.kind.group === group;
}

/** 403 Forbidden with the object's name, or its generateName. */
export function forbiddenRequest(attributes: AdmissionAttributes, why: string): StatusError {
  const { request, object, ofCollection = false } = attributes;
  const { name = "", generateName = "" } = object?.metadata ?? {};
  const requested = ofCollection ? "" : request.name;
  return forbidden(request.resource, requested || name || generateName || "Unknown", why);
}

/** Joins distinct messages like Kubernetes' aggregate errors. */
export function aggregate(messages: readonly string[]): string {
  const once = [...new Set(messages)];
  return once.length === 1 ? once[0]! : `[${once.join(", ")}]`;
}

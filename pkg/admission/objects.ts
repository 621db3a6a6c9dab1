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

/** What plugins are given. */
export interface ObjectReaderOptions {
  readonly catalog: Catalog;
  /** Asked for when the first request comes: the registry is made with its admission. */
  readonly registry: () => Registry;
  /** Whether a feature gate is on. */
  readonly gates: (name: string) => boolean;
}

/** Where an object is that a plugin looks at: group (a template), plural, namespace. */
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
 * Reads other objects while a request is being admitted: from the cache, with all that was written
 * through this process. What another replica wrote an instant ago may be missing, as in Kubernetes.
 */
export class ObjectReader {
  constructor(private readonly parts: ObjectReaderOptions) {}

  /**
   * Undefined when there is none, or no such kind. An object that the cache does not have is read
   * from the store: another replica may have created it.
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
   * Whether the cache shows none, which spares most requests a list. What other replicas have just
   * made is not in it before its event has come, as in the informers of Kubernetes.
   */
  areKnownToBeNone({ group, plural, version = "v1", namespace = "" }: Collection): boolean {
    const { catalog, registry } = this.parts;
    const resource = catalog.find(resolve(group, catalog.domain), version, plural);
    return resource === undefined || registry().isKnownEmpty({ resource, namespace });
  }

  async list(where: Collection, life: RequestContext): Promise<readonly any[]> {
    if (this.areKnownToBeNone(where)) return [];
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

  /** What an annotation of the target's namespace says; undefined where it has none. */
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

/** True for the main resource of that kind. */
export function isFor({ request }: AdmissionAttributes, group: string, plural: string): boolean {
  const { resource, subresource } = request;
  return subresource === "" && resource.plural === plural && resource.kind.group === group;
}

/** 403 that names the object, by its generateName if it has no name yet. */
export function refuse(attributes: AdmissionAttributes, why: string): StatusError {
  const { request, object, ofCollection = false } = attributes;
  const { name = "", generateName = "" } = object?.metadata ?? {};
  const requested = ofCollection ? "" : request.name;
  return forbidden(request.resource, requested || name || generateName || "Unknown", why);
}

/** Joins messages, each once, as Go prints an aggregate of errors. */
export function aggregate(messages: readonly string[]): string {
  const once = [...new Set(messages)];
  return once.length === 1 ? once[0]! : `[${once.join(", ")}]`;
}

import { assign, type Clock, yieldEvery, printJson } from "#base";
import type { Catalog, HookContext, Resource } from "#meta";
import type { AdmissionAttributes } from "#registry";
import {
  type GroupVersionKind,
  type Json,
  encodeIn,
  decodeFrom,
  convertTo,
  kindOfSubresource,
} from "./versions.ts";

export interface VersionedAttributesOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly gates: (name: string) => boolean;
}

/** One of the two objects of a request. */
export type Side = "object" | "old";

/**
 * A write in the form that webhooks and policies receive, with objects in their requested versions. An object
 * is converted and encoded once per version, and again after a change.
 */
export class VersionedAttributes {
  readonly operation: string;
  readonly resource: Resource;
  readonly subresource: string;
  /** For a Namespace, its own name. */
  readonly namespace: string;
  readonly name: string;
  /** Yields to the event loop between the configurations of a request, which can be thousands. */
  readonly pause = yieldEvery();
  #texts = new Map<string, Promise<string>>();
  #values = new Map<string, Promise<Json>>();

  constructor(
    readonly attributes: AdmissionAttributes,
    private readonly parts: VersionedAttributesOptions,
  ) {
    const { request, object, operation } = attributes;
    this.operation = operation.toUpperCase();
    this.resource = request.resource;
    this.subresource = request.subresource;
    const name: string = request.name || object?.metadata?.name || "";
    this.name = attributes.ofCollection ? "" : name;
    this.namespace = isNamespaces(request.resource) ? name : request.namespace;
  }

  /** Whether webhooks and policies receive a Scale as object. */
  get isScale(): boolean {
    return this.#scaleAccess() !== undefined;
  }

  get isNamespace(): boolean {
    return isNamespaces(this.resource);
  }

  /** GroupVersionKind of the object in the version of `as`. */
  kindIn(as: Resource): GroupVersionKind {
    const { bodyResource } = this.attributes;
    if (bodyResource === undefined)
      return kindOfSubresource(as, this.subresource, this.parts.catalog.domain);
    return {
      group: bodyResource.group,
      version: bodyResource.version,
      kind: bodyResource.kind.kind,
    };
  }

  /** JSON in the version of `as`; `null` if the object is absent. @throws StatusError */
  text(side: Side, as: Resource): Promise<string> {
    return kept(this.#texts, `${side} ${as.groupVersion}`, () => this.#print(side, as));
  }

  /** JSON value in the version of `as`; undefined if the object is absent. */
  async value(side: Side, as: Resource): Promise<Json | undefined> {
    if (this.attributes[side] === undefined) return undefined;
    return kept(this.#values, `${side} ${as.groupVersion}`, async () => {
      const scale = this.#scale(side);
      if (scale !== undefined) return scale;
      if (this.operation === "CONNECT") return this.#streamed(as);
      return convertTo(this.attributes[side], this.#conversion(as), this.pause);
    });
  }

  /**
   * Replaces the object by modified JSON in the version of `as`.
   * @param checkUnknown receives the paths of the fields that the schema of a built-in kind does not have
   * @throws DecodeFault if the JSON does not match the schema, or StatusError
   */
  async change(
    json: unknown,
    as: Resource,
    checkUnknown?: (paths: readonly string[]) => void,
  ): Promise<void> {
    const { object } = this.attributes;
    const scale = this.#scaleAccess();
    if (scale !== undefined) {
      const { replicas } = (json as { readonly spec?: { readonly replicas?: number } }).spec ?? {};
      scale.set(object, Number(replicas ?? 0));
    } else if (this.operation !== "CONNECT") {
      const unknown: string[] | undefined = checkUnknown && [];
      const conversion = { ...this.#conversion(as), unknown };
      const changed = await decodeFrom(json, conversion, this.#context(as));
      if (unknown !== undefined) checkUnknown?.(unknown);
      replaceContents(object, changed);
    }
    this.invalidate();
  }

  /** Invalidates converted copies after a change of the object. */
  invalidate(): void {
    this.#texts = new Map();
    this.#values = new Map();
  }

  async #print(side: Side, as: Resource): Promise<string> {
    if (this.attributes[side] === undefined) return "null";
    const isPlain = this.#scaleAccess() === undefined && this.operation !== "CONNECT";
    if (isPlain) return encodeIn(this.attributes[side], this.#conversion(as));
    return printJson(await this.value(side, as));
  }

  #conversion(as: Resource) {
    const { bodyResource, request } = this.attributes;
    const { signal } = request.context;
    return bodyResource === undefined
      ? { from: this.resource, to: as, signal }
      : { from: bodyResource, to: bodyResource, signal };
  }

  #streamed(as: Resource): Json {
    const { group, version, kind } = this.kindIn(as);
    const apiVersion = group === "" ? version : `${group}/${version}`;
    return { kind, apiVersion, ...this.attributes.object };
  }

  #scaleAccess() {
    if (this.subresource !== "scale") return undefined;
    const { subresources } = this.resource.kind;
    return subresources.find(({ name }) => name === "scale")?.scale;
  }

  /** A write of a Scale changes its parent object; webhooks and policies receive the Scale. */
  #scale(side: Side): Json | undefined {
    const access = this.#scaleAccess();
    if (access === undefined) return undefined;
    const parent = this.attributes[side];
    const { name, namespace, uid, resourceVersion, creationTimestamp } = parent.metadata;
    const { replicas, observed, selector } = access.get(parent);
    return {
      kind: "Scale",
      apiVersion: "autoscaling/v1",
      metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
      spec: { replicas },
      status: { replicas: observed, ...(selector === "" ? {} : { selector }) },
    };
  }

  #context(as: Resource): HookContext {
    const { clock, gates, catalog } = this.parts;
    return {
      now: clock.now(),
      gate: gates,
      domain: catalog.domain,
      requestGroup: as.group,
      requestVersion: as.version,
      subresource: this.subresource,
      user: this.attributes.request.user,
    };
  }
}

function kept<T>(made: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const known = made.get(key);
  if (known !== undefined) return known;
  const promise = make();
  made.set(key, promise);
  return promise;
}

/** Replaces the contents of an object in place. */
function replaceContents(object: any, other: any): void {
  for (const key of Object.keys(object)) if (!Object.hasOwn(other, key)) delete object[key];
  for (const [key, value] of Object.entries(other)) assign(object, key, value);
}

function isNamespaces({ keyPrefix }: Resource): boolean {
  return keyPrefix === "/namespaces/";
}

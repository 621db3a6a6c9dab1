import { assign, type Clock } from "#base";
import type { Catalog, HookContext, Resource } from "#meta";
import type { AdmissionAttributes } from "#registry";
import {
  type GroupVersionKind,
  type Json,
  printed,
  readBack,
  shown,
  spokenKind,
} from "./versions.ts";

export interface VersionedAttributesOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly gates: (name: string) => boolean;
}

/** Which of the two objects of a request. */
export type Side = "object" | "old";

/**
 * One write as those see it who were configured to judge it: under its names on the wire, and with
 * its objects in whichever version they ask for. Objects are printed once per version, and again
 * when somebody has changed them.
 */
export class VersionedAttributes {
  readonly operation: string;
  readonly resource: Resource;
  readonly subresource: string;
  /** Of a namespace itself, its own name. */
  readonly namespace: string;
  readonly name: string;
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
    this.name = request.name || object?.metadata?.name || "";
    this.namespace = isNamespaces(request.resource) ? this.name : request.namespace;
  }

  get isNamespace(): boolean {
    return isNamespaces(this.resource);
  }

  /** What the object is, in the version of `as`. */
  kindIn(as: Resource): GroupVersionKind {
    const { bodyResource } = this.attributes;
    if (bodyResource === undefined)
      return spokenKind(as, this.subresource, this.parts.catalog.domain);
    return {
      group: bodyResource.group,
      version: bodyResource.version,
      kind: bodyResource.kind.kind,
    };
  }

  /** JSON in the version of `as`; `null` where there is no such object. Throws StatusError. */
  text(side: Side, as: Resource): Promise<string> {
    return kept(this.#texts, `${side} ${as.groupVersion}`, () => this.#print(side, as));
  }

  /** The same as a value; undefined where there is no such object. */
  async value(side: Side, as: Resource): Promise<Json | undefined> {
    if (this.attributes[side] === undefined) return undefined;
    return kept(this.#values, `${side} ${as.groupVersion}`, async () => {
      const scale = this.#scale(side);
      if (scale !== undefined) return scale;
      if (this.operation === "CONNECT") return this.#streamed(as);
      return shown(this.attributes[side], this.#seen(as));
    });
  }

  /**
   * Puts changed JSON of the object, in the version of `as`, in its place. Throws DecodeFault for
   * what is no such object, or StatusError.
   */
  async change(json: unknown, as: Resource): Promise<void> {
    const { object } = this.attributes;
    const scale = this.#scaleAccess();
    if (scale !== undefined) {
      const { replicas } = (json as { readonly spec?: { readonly replicas?: number } }).spec ?? {};
      scale.set(object, Number(replicas ?? 0));
    } else if (this.operation !== "CONNECT") {
      become(object, await readBack(json, this.#seen(as), this.#context(as)));
    }
    this.touched();
  }

  /** Somebody has changed the object. */
  touched(): void {
    this.#texts = new Map();
    this.#values = new Map();
  }

  async #print(side: Side, as: Resource): Promise<string> {
    if (this.attributes[side] === undefined) return "null";
    const isPlain = this.#scaleAccess() === undefined && this.operation !== "CONNECT";
    if (isPlain) return printed(this.attributes[side], this.#seen(as));
    return JSON.stringify(await this.value(side, as));
  }

  #seen(as: Resource) {
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

  /** Whoever writes a scale changes its parent in truth; only the scale shows. */
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

/** Those who hold the object see the other one's contents. */
function become(object: any, other: any): void {
  for (const key of Object.keys(object)) if (!Object.hasOwn(other, key)) delete object[key];
  for (const [key, value] of Object.entries(other)) assign(object, key, value);
}

function isNamespaces({ keyPrefix }: Resource): boolean {
  return keyPrefix === "/namespaces/";
}

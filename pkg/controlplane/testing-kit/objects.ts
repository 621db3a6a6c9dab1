import { systemClock, printJson } from "#base";
import { type ApiObject, type DiscoveredResource, HttpClient, type RoundTrip } from "#client";
import { domainOf, groupVersionOf } from "#meta";
import { checkObject, type Fixture, type KubernetesObject, objectsOf } from "./fixtures.ts";
import { type Holds, parseCondition, type WaitCondition } from "./wait-condition.ts";

export interface WaitOptions {
  /** Timeout of the wait in ms of real time; default 10,000. */
  readonly timeoutMs?: number;
}

/** Reference to an object by kind and name; the namespace defaults to `default`. */
export type ObjectReference = Pick<KubernetesObject, "apiVersion" | "kind"> & {
  readonly metadata: { readonly name?: string; readonly namespace?: string };
};

export interface ObjectsOptions {
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>;
  readonly signal: AbortSignal;
}

const fieldManager = "keelson-testing";
const defaultTimeoutMs = 10_000;

/** Applies fixtures and waits for objects, through the API. */
export class ObjectClient {
  private readonly client: HttpClient;
  private readonly resources = new Map<string, DiscoveredResource>();

  constructor({ fetch, signal }: ObjectsOptions) {
    const domain = domainOf();
    const send = roundTripOf(fetch);
    const userAgent = fieldManager;
    this.client = new HttpClient({ send, domain, clock: systemClock, userAgent, signal });
  }

  async apply(fixtures: readonly Fixture[]): Promise<readonly KubernetesObject[]> {
    const applied: KubernetesObject[] = [];
    for (const fixture of fixtures) {
      for (const object of await objectsOf(fixture)) applied.push(await this.applyOne(object));
    }
    return applied;
  }

  private async applyOne(object: KubernetesObject): Promise<KubernetesObject> {
    const resource = await this.resourceOf(object);
    const patch = { type: "apply", body: object, fieldManager, force: true } as const;
    const stored = await this.client.patch(resource, placeOf(resource, object), patch);
    if (object.kind === "CustomResourceDefinition") {
      return this.waitFor(object, "condition=Established").then((found) => found!);
    }
    return withKind(resource, stored);
  }

  /** Resolves with the object; undefined if it does not exist. */
  async waitFor(
    reference: ObjectReference,
    condition: WaitCondition,
    { timeoutMs = defaultTimeoutMs }: WaitOptions = {},
  ): Promise<KubernetesObject | undefined> {
    const holds = parseCondition(condition);
    const { apiVersion, kind, metadata } = checkObject(reference);
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), timeoutMs);
    const waiting: Waiting = { holds, signal: late.signal, last: undefined };
    try {
      return await this.followed(checkObject(reference), waiting);
    } catch (error) {
      if (!late.signal.aborted) throw error;
      const wanted = typeof condition === "string" ? condition : "the condition";
      const seen =
        waiting.last === undefined
          ? "it did not exist"
          : `last seen: ${printJson(waiting.last).slice(0, 2_000)}`;
      const name = `${kind}.${apiVersion} ${metadata.namespace ?? "default"}/${metadata.name}`;
      const message = `timed out after ${timeoutMs} ms waiting for ${wanted} of ${name}; ${seen}`;
      throw new Error(message, { cause: error });
    } finally {
      clearTimeout(timer);
      late.abort();
    }
  }

  /** Lists, then watches; lists again whenever the watch ends. */
  private async followed(
    reference: KubernetesObject,
    waiting: Waiting,
  ): Promise<KubernetesObject | undefined> {
    const { signal, holds } = waiting;
    const resource = await this.resourceOf(reference);
    const { namespace = "", name } = placeOf(resource, reference);
    const selection = { namespace, fieldSelector: `metadata.name=${name}`, signal };
    for (;;) {
      signal.throwIfAborted();
      const { items, resourceVersion } = await this.client.list(resource, selection);
      waiting.last = items[0] && withKind(resource, items[0]);
      if (holds(waiting.last)) return waiting.last;
      for await (const event of this.client.watch(resource, { ...selection, resourceVersion })) {
        if (event.type === "ERROR") break;
        if (event.type === "BOOKMARK") continue;
        const isGone = event.type === "DELETED";
        waiting.last = isGone ? undefined : withKind(resource, event.object);
        if (holds(waiting.last)) return waiting.last;
      }
    }
  }

  /** Finds the resource of a kind, refreshing discovery for unknown kinds. */
  private async resourceOf({ apiVersion, kind }: KubernetesObject): Promise<DiscoveredResource> {
    const key = `${apiVersion}/${kind}`;
    if (!this.resources.has(key)) {
      const { resources } = await this.client.discover();
      for (const resource of resources) {
        this.resources.set(
          `${groupVersionOf(resource.group, resource.version)}/${resource.kind}`,
          resource,
        );
      }
    }
    const found = this.resources.get(key);
    if (found !== undefined) return found;
    throw new Error(`no matches for kind ${JSON.stringify(kind)} in version "${apiVersion}"`);
  }
}

interface Waiting {
  readonly holds: Holds;
  readonly signal: AbortSignal;
  last: KubernetesObject | undefined;
}

function placeOf(
  { namespaced }: DiscoveredResource,
  { metadata }: KubernetesObject,
): { readonly name: string; readonly namespace?: string } {
  const { name = "", namespace = "default" } = metadata;
  return namespaced ? { name, namespace } : { name };
}

function withKind(
  { group, version, kind }: DiscoveredResource,
  object: ApiObject,
): KubernetesObject {
  return {
    apiVersion: groupVersionOf(group, version),
    kind,
    ...object,
  } as unknown as KubernetesObject;
}

function roundTripOf(fetch: ObjectsOptions["fetch"]): RoundTrip {
  return async ({ method, path, headers, body, signal }) => {
    const init = { method, headers: { ...headers }, signal };
    const answer = await fetch(path, body === undefined ? init : { ...init, body: toBody(body) });
    return {
      status: answer.status,
      header: (name) => answer.headers.get(name) ?? "",
      body: (answer.body ?? []) as AsyncIterable<Uint8Array>,
    };
  };
}

function toBody(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}

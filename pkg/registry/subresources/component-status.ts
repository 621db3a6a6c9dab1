import { request } from "node:https";
import { dialFailure } from "#base";
import { methodNotSupported, notFound } from "#meta";
import type { GetOptions, Item, ItemList, ListOptions, ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { selectionOf } from "../read/selection.ts";
import { encodeStored, StoredItem } from "../codec/stored.ts";

/**
 * ComponentStatuses (deprecated since v1.19): each read probes the health of the control plane
 * components at their default addresses.
 */

interface Health {
  readonly message?: string;
  readonly error?: string;
}

type Probe = (registry: RegistryContext, signal: AbortSignal) => Promise<Health>;

const probes: Readonly<Record<string, Probe>> = {
  "controller-manager": async ({ runsControllers }, signal) =>
    runsControllers === true ? { message: "ok" } : probeLocally(10_257, signal),
  "etcd-0": async ({ store }, signal) => {
    await store.revision(signal);
    return { message: "ok" };
  },
  scheduler: async ({ runsScheduler }, signal) =>
    runsScheduler === true ? { message: "ok" } : probeLocally(10_259, signal),
};

/** Timeout of a probe in ms. */
const probeTimeoutMs = 1_000;
/** The resource in kube-apiserver's 404, in the singular. */
const resourceName = { group: "", plural: "componentstatus" };

export async function getComponent(
  registry: RegistryContext,
  request: ResourceRequest,
  _options: GetOptions,
): Promise<Item> {
  const { name } = request;
  if (!Object.hasOwn(probes, name)) throw notFound(resourceName, name);
  return componentItem(registry, request, name);
}

export async function listComponents(
  registry: RegistryContext,
  request: ResourceRequest,
  options: ListOptions,
): Promise<ItemList> {
  const selection = selectionOf(request, options);
  const names = Object.keys(probes);
  const components = await Promise.all(names.map((name) => componentItem(registry, request, name)));
  const items = components.filter((item) => selection.matches(item));
  return { items: generate(items), chunks: generate([items]), revision: 0, next: undefined };
}

/** Throws 405 for computed resources, which cannot be watched. */
export function rejectComputedWatch({ resource }: ResourceRequest): void {
  if (resource.kind.rules.computed) throw methodNotSupported(resource, "watch");
}

async function* generate<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}

async function componentItem(
  registry: RegistryContext,
  request: ResourceRequest,
  name: string,
): Promise<StoredItem> {
  const signal = AbortSignal.any([request.context.signal, AbortSignal.timeout(probeTimeoutMs)]);
  const health = await probes[name]!(registry, signal).catch((error: unknown): Health => ({
    error: error instanceof Error ? error.message : String(error),
  }));
  const status = health.error === undefined ? "True" : "False";
  const object = { metadata: { name }, conditions: [{ type: "Healthy", status, ...health }] };
  const value = encodeStored(registry, request.resource, object);
  const entry = { key: `${request.resource.keyPrefix}${name}`, value, modRevision: 0 };
  return new StoredItem(registry, request, entry, { object, isEncoded: true });
}

/** GETs /healthz of a component on the loopback address; its self-signed certificate is not verified. */
function probeLocally(port: number, signal: AbortSignal): Promise<Health> {
  const url = `https://127.0.0.1:${port}/healthz`;
  return new Promise((resolve) => {
    const fail = (reason: string) => resolve({ error: `Get "${url}": ${reason}` });
    const probe = request(url, { rejectUnauthorized: false, signal }, (response) => {
      response.resume();
      const { statusCode } = response;
      if (statusCode === 200) resolve({ message: "ok" });
      else resolve({ error: `unhealthy http status code: ${statusCode}` });
    });
    probe.once("error", (error) => fail(dialFailure({ host: "127.0.0.1", port }, error)));
    probe.end();
  });
}

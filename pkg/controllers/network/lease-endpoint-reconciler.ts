import { type Clock, deepEqual, parseJsonText, printJson } from "#base";
import { type Catalog, isConflict, isNotFound, resolve, type Resource } from "#meta";
import { bodyOf, defaultWriteOptions, type Registry, loopbackRequest } from "#registry";
import type { ObjectStore } from "#storage";

/**
 * Lease endpoint reconciler: every API server renews a key with its address below /masterleases/, as
 * kube-apiserver does, and publishes the addresses of all keys as Endpoints and EndpointSlice of the
 * Service `kubernetes`. A server that dies is removed when its key expires.
 */

export interface EndpointReconcilerOptions {
  readonly store: ObjectStore;
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Address and port under which pods reach this replica. */
  readonly address: string;
  readonly port: number;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

const leases = "/masterleases/";
const leaseSeconds = 15;
const intervalMs = 10_000;
const name = "kubernetes";
const namespace = "default";
/** Time limit of the removal at shutdown. */
const removalTimeoutMs = 2_000;

/** Publishes this server's address until the signal aborts, then removes it. */
export async function runLeaseEndpointReconciler(
  options: EndpointReconcilerOptions,
): Promise<void> {
  const { clock, signal, report } = options;
  while (!signal.aborted) {
    try {
      await renew(options);
      await publish(options, signal);
    } catch (error) {
      if (!signal.aborted)
        report("Failed to reconcile the endpoints of Service default/kubernetes", error);
    }
    await clock.sleep(intervalMs, signal).catch(() => undefined);
  }
  await removeServer(options).catch(() => undefined);
}

async function renew({ store, address }: EndpointReconcilerOptions): Promise<void> {
  const key = `${leases}${address}`;
  const value = Buffer.from(printJson(leaseOf(address)));
  const lease = { ttlSeconds: leaseSeconds };
  const { entry } = await store.get(key);
  if (entry === undefined) await store.create(key, value, lease);
  else await store.update(key, entry.modRevision, value, lease);
}

/** The value in kube-apiserver's format. */
function leaseOf(address: string): unknown {
  return {
    kind: "Endpoints",
    apiVersion: "v1",
    metadata: {},
    subsets: [{ addresses: [{ ip: address }] }],
  };
}

async function removeServer(options: EndpointReconcilerOptions): Promise<void> {
  const { store, address } = options;
  const { entry } = await store.get(`${leases}${address}`);
  if (entry !== undefined) await store.delete(entry.key, entry.modRevision);
  await publish(options, AbortSignal.timeout(removalTimeoutMs));
}

async function publish(options: EndpointReconcilerOptions, signal: AbortSignal): Promise<void> {
  const { store, catalog, port } = options;
  const { entries } = await store.list(leases, {});
  const addresses = entries.map(({ key }) => key.slice(leases.length)).sort();
  const ports = [{ name: "https", port, protocol: "TCP" }];
  const { domain } = catalog;
  const endpoints = catalog.find("", "v1", "endpoints");
  const slices = catalog.find(resolve("discovery.{api}", domain), "v1", "endpointslices");
  const skipped = { [resolve("endpointslice.{label}/skip-mirror", domain)]: "true" };
  const subset = { addresses: addresses.map((ip) => ({ ip })), ports };
  const labels = { [resolve("{label}/service-name", domain)]: name };
  const slice = {
    addressType: addresses[0]?.includes(":") ? "IPv6" : "IPv4",
    endpoints: addresses.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
    ports,
  };
  const subsets = addresses.length > 0 ? [subset] : [];
  await ensureObject(options, {
    resource: endpoints,
    labels: skipped,
    fields: { subsets },
    signal,
  });
  await ensureObject(options, { resource: slices, labels, fields: slice, signal });
}

interface Wanted {
  readonly resource: Resource | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
}

/** Conflicts are ignored: other replicas write the same. */
async function ensureObject(
  { registry }: EndpointReconcilerOptions,
  wanted: Wanted,
): Promise<void> {
  const { resource, labels, fields, signal } = wanted;
  if (resource === undefined) return;
  const target = loopbackRequest(resource, { namespace, name }, { signal });
  const body = (more: object) =>
    bodyOf(resource, { metadata: { name, namespace, labels, ...more }, ...fields });
  try {
    const { object } = await registry.get(target, { resourceVersion: "" });
    if (hasAll(object, fields) && hasAll(object.metadata.labels ?? {}, labels)) return;
    const { resourceVersion } = object.metadata;
    await registry.update(target, body({ resourceVersion }), defaultWriteOptions);
  } catch (error) {
    if (isConflict(error)) return;
    if (!isNotFound(error)) throw error;
    const collection = loopbackRequest(resource, { namespace }, { signal });
    await registry.create(collection, body({}), defaultWriteOptions).catch((failure: unknown) => {
      if (!isConflict(failure)) throw failure;
    });
  }
}

function hasAll(object: any, wanted: Readonly<Record<string, unknown>>): boolean {
  const plain = (value: unknown) => parseJsonText(printJson(value ?? []));
  return Object.entries(wanted).every(([field, value]) =>
    deepEqual(plain(object[field]), plain(value)),
  );
}

import { type Clock, realClock } from "#base";
import { type Catalog, isConflict, isNotFound, resolve, type Resource } from "#meta";
import {
  bodyOf,
  firstAddress,
  type Item,
  jsonBody,
  defaultWriteOptions,
  type Registry,
  loopbackRequest,
  type ServiceNetwork,
} from "#registry";

/** Inputs of the Service `kubernetes` and the default ServiceCIDR. */
export interface KubernetesService {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly network: ServiceNetwork;
  /** Port that this server listens on. */
  readonly port: number;
  readonly signal: AbortSignal;
}

/** Name of the Service of the API server, and of the default ServiceCIDR. */
const name = "kubernetes";

/**
 * Creates the default ServiceCIDR with condition Ready, and the Service `default/kubernetes`, unless
 * they exist.
 */
export async function ensureKubernetesService(options: KubernetesService): Promise<void> {
  await ensureServiceCidr(options);
  await ensureService(options);
}

/** Interval of kube-apiserver's controllers of the Service and of the default ServiceCIDR. */
const intervalMs = 10_000;

/** Recreates both within ten seconds after a deletion, until the signal aborts. */
export async function runKubernetesService(
  options: KubernetesService & { readonly report: (what: string, error: unknown) => void },
): Promise<void> {
  const { clock, signal, report } = options;
  for (;;) {
    await realClock(clock)
      .sleep(intervalMs, signal, { background: true })
      .catch(() => undefined);
    if (signal.aborted) return;
    await ensureKubernetesService(options).catch((error: unknown) => {
      if (!signal.aborted) report(`Failed to restore the Service ${name}`, error);
    });
  }
}

async function ensureServiceCidr(options: KubernetesService): Promise<void> {
  const { catalog, registry, network, signal } = options;
  const resource = catalog.find(resolve("networking.{api}", catalog.domain), "v1", "servicecidrs");
  if (resource === undefined) return;
  const wanted = { metadata: { name }, spec: { cidrs: network.cidrs } };
  const { object } = await ensure(options, resource, wanted);
  const conditions: readonly { readonly type: string }[] = object.status?.conditions ?? [];
  if (conditions.some(({ type }) => type === "Ready") || object.metadata.deletionTimestamp) return;
  const ready = {
    type: "Ready",
    status: "True",
    reason: "",
    message: "Kubernetes default Service CIDR is ready",
    lastTransitionTime: object.metadata.creationTimestamp,
  };
  const patch = { metadata: { uid: object.metadata.uid }, status: { conditions: [ready] } };
  const target = loopbackRequest(resource, { name, subresource: "status" }, { signal });
  const merge = { ...defaultWriteOptions, patchType: "merge", force: undefined } as const;
  await registry.patch(target, jsonBody(patch), merge);
}

async function ensureService(options: KubernetesService): Promise<void> {
  const { catalog, network, port } = options;
  const resource = catalog.find("", "v1", "services");
  if (resource === undefined) return;
  const service = {
    metadata: { name, labels: { component: "apiserver", provider: name } },
    spec: {
      clusterIP: firstAddress(network.cidrs[0] ?? ""),
      ports: [{ name: "https", port: 443, targetPort: port }],
    },
  };
  await ensure(options, resource, service);
}

/** Attempts while another replica has allocated the cluster IP but not yet written the Service. */
const maxAttempts = 40;
const retryMs = 50;

/** Reads the object, or creates it; another replica may create it concurrently. */
async function ensure(
  { registry, signal, clock }: KubernetesService,
  resource: Resource,
  object: object,
): Promise<Item> {
  const namespace = resource.kind.scope === "Cluster" ? "" : "default";
  const body = bodyOf(resource, object);
  const found = () =>
    registry.get(loopbackRequest(resource, { namespace, name }, { signal }), {
      resourceVersion: "",
    });
  for (let attempt = 1; ; attempt++) {
    try {
      return await found();
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    try {
      const target = loopbackRequest(resource, { namespace }, { signal });
      return (await registry.create(target, body, defaultWriteOptions)).item;
    } catch (error) {
      // 422: another replica's Service already has the cluster IP.
      const isTaken = isConflict(error) || (error as { readonly code?: unknown }).code === 422;
      if (!isTaken || attempt === maxAttempts) throw error;
    }
    await realClock(clock).sleep(retryMs, signal);
  }
}

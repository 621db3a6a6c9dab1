/** Assembles the parts of a server. */
import { serveDefinitions, type ServedDefinitions } from "#crd";
import { createRegistry, type Registry } from "#registry";
import type { Dialer } from "#request";
import {
  type Aggregation,
  createServer,
  type KeelsonServer,
  type KubeletTls,
  type TlsOptions,
} from "#server";
import { type AggregatedApis, aggregatedApis } from "./aggregated-apis.ts";
import { aggregationOf } from "./aggregation.ts";
import { buildFlowControl, type FlowControl } from "./flow-control.ts";
import { type AccessControl, buildAccessControl } from "../authorization/access-control.ts";
import type { Admission } from "#admission";
import { buildAdmission } from "../admission.ts";
import { type Auditing, buildAuditing } from "../observability/audit.ts";
import { debuggingOptions } from "../observability/debugging.ts";
import type { ServerDependencies } from "./build-dependencies.ts";
import { defaultNetwork } from "../network.ts";
import { replicaSettleMs } from "../cluster/server-identity.ts";
import { followedTls } from "../credentials/tls.ts";
import { dialerOf } from "../nodes/address-routing.ts";
import { kubeletAddressTypesOf, kubeletTls } from "../nodes/kubelet-access.ts";

export interface Assembly extends ServerDependencies {
  readonly access: AccessControl;
  readonly admission: Admission;
  readonly registry: Registry;
  readonly auditing: Auditing;
  readonly server: KeelsonServer;
  readonly definitions: ServedDefinitions;
  readonly aggregation: Aggregation;
  readonly aggregated: AggregatedApis;
  /** Undefined = API Priority and Fairness is off. */
  readonly flowControl: FlowControl | undefined;
}

const defaultEventTtlSeconds = 3600;
const defaultMinRequestTimeoutMs = 1_800_000;

/** Assembles a server that does not listen yet; watching CustomResourceDefinitions starts. */
export async function assemble(foundation: ServerDependencies): Promise<Assembly> {
  const { options, catalog, credentials, signal, token } = foundation;
  const access = buildAccessControl({
    ...foundation,
    adminToken: token,
    ownAuthority: credentials && (credentials.generated?.authority.certificate ?? ""),
    instruments: foundation.metrics.instruments,
    life: signal,
    registry: () => registry,
  });
  const dialer = dialerOf(foundation, () => registry);
  const admission = buildAdmission({
    ...foundation,
    access,
    dialer,
    measuring: foundation.metrics,
    registry: () => registry,
  });
  const registry: Registry = registryOf(foundation, access, admission);
  const auditing = await buildAuditing(options, { ...foundation, domain: catalog.domain });
  const aggregation = aggregationOf(foundation, { registry, dialer });
  const aggregated = aggregatedApis(foundation, aggregation);
  const flowControl = buildFlowControl({ ...foundation, registry });
  const parts = { access, registry, auditing, aggregation, aggregated, flowControl };
  const kubelet = await kubeletTls(foundation);
  const server = serverOf({ ...foundation, ...parts, kubelet, dialer });
  const replica = { ...foundation, registry };
  const definitions = serveDefinitions({
    ...replica,
    dialer,
    settleMs: () => replicaSettleMs(replica, () => server.port),
  });
  return { ...foundation, ...parts, admission, server, definitions };
}

function registryOf(
  { options, catalog, clock, gates, store, storageRoot }: ServerDependencies,
  { createHandlers }: AccessControl,
  { mutating, validating }: Admission,
): Registry {
  return createRegistry({
    store,
    catalog,
    clock,
    gates,
    allowPrivileged: options.allowPrivileged ?? false,
    runsControllers: options.controllers !== false,
    runsScheduler: options.scheduler === true,
    storageMediaType: options.storageMediaType ?? "json",
    eventTtlSeconds: options.eventTtlSeconds ?? defaultEventTtlSeconds,
    minRequestTimeoutMs: options.minRequestTimeoutMs ?? defaultMinRequestTimeoutMs,
    storageRoot,
    serviceNetwork: options.serviceNetwork ?? defaultNetwork,
    mutating: [mutating],
    validating: [validating],
    createHandlers,
    ...kubeletAddressTypesOf(options),
  });
}

type Parts = ServerDependencies &
  Pick<Assembly, "access" | "registry" | "auditing" | "aggregation" | "aggregated" | "flowControl">;

interface ServerParts extends Parts {
  readonly kubelet: KubeletTls;
  readonly dialer: Dialer;
}

function serverOf({
  access,
  aggregated,
  aggregation,
  auditing,
  flowControl,
  registry,
  kubelet,
  dialer,
  ...foundation
}: ServerParts): KeelsonServer {
  const { options, catalog, clock, gates, metrics, tracer, postStartHooks, storageChecks } =
    foundation;
  const { credentials, files } = foundation;
  const renew = (tls: TlsOptions) => server.renewTls(tls);
  const server: KeelsonServer = createServer({
    catalog,
    registry,
    clock,
    metrics,
    tracer,
    authenticator: access.authenticator,
    authorizer: access.authorizer,
    documents: access.documents,
    aggregation,
    aggregated,
    auditor: auditing.auditor,
    health: [...storageChecks, ...postStartHooks.checks],
    debugging: { ...debuggingOptions(foundation), unlistedTexts: flowControl?.dumps ?? new Map() },
    tls: credentials && followedTls(options, credentials, { files, renew }),
    kubelet,
    limits: {
      ...options.limits,
      ...(gates("APIResponseCompression") ? {} : { gzipThreshold: Infinity }),
    },
    dialer,
    flowControl: flowControl?.controller,
    interceptor: options.interceptor,
    ...(options.lifecycle ?? {}),
    logger: options.logger,
  });
  return server;
}

/** The parts of a server, put together. */
import { serveDefinitions, type ServedDefinitions } from "#crd";
import { createRegistry, type Registry } from "#registry";
import { createServer, type KeelsonServer, type TlsOptions } from "#server";
import { type Access, accessOf } from "../authorization/access.ts";
import { type Admission, admissionOf } from "../admission.ts";
import { type Auditing, auditingOf } from "../observability/audit.ts";
import { debuggingOf } from "../observability/debugging.ts";
import type { Foundation } from "./build-dependencies.ts";
import { defaultNetwork } from "../network.ts";
import { settlingOf } from "../options.ts";
import { followedTls } from "../credentials/tls.ts";

export interface Assembly extends Foundation {
  readonly access: Access;
  readonly admission: Admission;
  readonly registry: Registry;
  readonly auditing: Auditing;
  readonly server: KeelsonServer;
  readonly definitions: ServedDefinitions;
}

const defaultEventTtlSeconds = 3600;

/** Nothing is listened to and no request is served yet; definitions begin to be followed. */
export async function assemble(foundation: Foundation): Promise<Assembly> {
  const { options, catalog, credentials, signal, token } = foundation;
  const access = accessOf({
    ...foundation,
    adminToken: token,
    ownAuthority: credentials?.authority.certificate,
    instruments: foundation.metrics.instruments,
    life: signal,
    registry: () => registry,
  });
  const admission = admissionOf({
    ...foundation,
    access,
    measuring: foundation.metrics,
    registry: () => registry,
  });
  const registry: Registry = registryOf(foundation, access, admission);
  const auditing = await auditingOf(options, { ...foundation, domain: catalog.domain });
  const server = serverOf({ ...foundation, access, registry, auditing });
  const definitions = serveDefinitions({
    ...foundation,
    registry,
    settleMs: settlingOf(options),
  });
  return { ...foundation, access, admission, registry, auditing, server, definitions };
}

function registryOf(
  { options, catalog, clock, gates, store, storageRoot }: Foundation,
  { answerers }: Access,
  { provide, mutating, validating }: Admission,
): Registry {
  return createRegistry({
    store,
    catalog,
    clock,
    gates,
    allowPrivileged: options.allowPrivileged ?? false,
    storageMediaType: options.storageMediaType ?? "json",
    eventTtlSeconds: options.eventTtlSeconds ?? defaultEventTtlSeconds,
    storageRoot,
    serviceNetwork: options.serviceNetwork ?? defaultNetwork,
    provide,
    mutating,
    validating,
    answerers,
  });
}

type Parts = Foundation & Pick<Assembly, "access" | "registry" | "auditing">;

function serverOf({ access, auditing, registry, ...foundation }: Parts): KeelsonServer {
  const { options, catalog, clock, metrics, tracer, steps, storageChecks } = foundation;
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
    auditor: auditing.auditor,
    health: [...storageChecks, ...steps.checks],
    debugging: debuggingOf(foundation),
    tls: credentials && followedTls(options, credentials, { files, renew }),
    kubelet: options.kubelet ?? {},
    limits: options.limits ?? {},
    ...(options.lifecycle ?? {}),
    logger: options.logger,
  });
  return server;
}

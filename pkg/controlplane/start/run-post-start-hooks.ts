/** The post-start hooks in their order. */
import { followKinds } from "#authz";
import { ensureKubernetesService, ensureServerObjects, type KubernetesService } from "#controllers";
import {
  recordTokenTrackingDate,
  reconcileBootstrapRoles,
} from "../authorization/bootstrap-roles.ts";
import type { Assembly } from "./assemble.ts";
import { announceServer } from "../cluster/server-identity.ts";
import { copyBootstrapObjects, defaultServicePort } from "../bootstrap/bootstrap-copy.ts";
import { bootstrap } from "../bootstrap/bootstrap-objects.ts";
import { loadRecording } from "../recording/load-recording.ts";
import { defaultNetwork, localhost, serverPort } from "../network.ts";

/** Creates bootstrap objects, syncs informers, listens, and publishes the Service `kubernetes`. */
export async function runPostStartHooks(assembly: Assembly): Promise<void> {
  const { access, admission, definitions, flowControl, postStartHooks, aggregation } = assembly;
  const { from } = assembly.options;
  if (from !== undefined) await loadRecording(assembly, from);
  const isServiceStored = await storeBootstrapObjects(assembly);
  const followed = [
    followKinds(
      [...access.followed, aggregation.apiServices.followed, ...(flowControl?.followed ?? [])],
      assembly,
    ),
    admission.follow(assembly),
  ];
  await postStartHooks.run(["informer-sync"], () => Promise.all(followed));
  await postStartHooks.run(
    ["poststarthook/start-apiextensions-controllers", "poststarthook/crd-informer-synced"],
    () => definitions.ready,
  );
  const port = await listen(assembly);
  await postStartHooks.run(
    ["poststarthook/bootstrap-controller", "poststarthook/start-service-ip-repair-controllers"],
    async () => {
      await Promise.all([
        isServiceStored || ensureKubernetesService(kubernetesServiceOf(assembly, port)),
        announceServer(assembly, port),
      ]);
    },
  );
}

/**
 * Stores the bootstrap objects. Returns whether the Service `kubernetes` is surely among them; otherwise it
 * is created, unless it exists, once the port is known.
 */
async function storeBootstrapObjects(assembly: Assembly): Promise<boolean> {
  const { inherited, options, postStartHooks } = assembly;
  if (inherited !== undefined) {
    // A fork has the objects of its original; its Service is only looked for if one of them has a port.
    postStartHooks.skip(bootstrapHooks);
    return !inherited.hasPort && options.port === undefined;
  }
  const servicePort = defaultServicePort(options);
  if (await postStartHooks.run([], () => copyBootstrapObjects(assembly, servicePort))) {
    postStartHooks.skip(bootstrapHooks);
    return servicePort !== undefined;
  }
  await createBootstrapObjects(assembly);
  return false;
}

const bootstrapHooks = [
  "poststarthook/start-system-namespaces-controller",
  "poststarthook/scheduling/bootstrap-system-priority-classes",
  "poststarthook/rbac/bootstrap-roles",
  "poststarthook/start-legacy-token-tracking-controller",
  "poststarthook/priority-and-fairness-config-producer",
] as const;

async function createBootstrapObjects(assembly: Assembly): Promise<void> {
  const { registry, catalog, clock, signal, postStartHooks } = assembly;
  const [namespaces, priorityClasses, roles, tokenTracking, flowControl] = bootstrapHooks;
  await postStartHooks.run([namespaces, priorityClasses], () =>
    bootstrap(registry, catalog, signal),
  );
  await postStartHooks.run([roles], () => reconcileBootstrapRoles(assembly));
  await postStartHooks.run([tokenTracking], () => recordTokenTrackingDate(assembly, clock.now()));
  await postStartHooks.run([flowControl], () => ensureServerObjects(assembly));
}

/** What the Service `kubernetes` of a server that listens on `port` looks like. */
export function kubernetesServiceOf(
  assembly: Assembly,
  port: number | undefined,
): Assembly & KubernetesService {
  const network = assembly.options.serviceNetwork ?? defaultNetwork;
  return { ...assembly, network, port: port ?? serverPort };
}

/** Starts listening; answers the port, or undefined for a server without one. */
async function listen({ server, signingKeyRead, options }: Assembly): Promise<number | undefined> {
  await signingKeyRead;
  const { host = localhost, port } = options;
  if (port === undefined) return undefined;
  await server.listen({ host, port });
  return server.address.port;
}

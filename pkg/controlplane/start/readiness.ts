/** What a server does once at its start, in order; its health says how far it has come. */
import { feed } from "#authz";
import { ensureKubernetesService, ensureServerObjects } from "#controllers";
import { noteTokenTracking, reconcileAccess } from "../authorization/bootstrap-roles.ts";
import type { Assembly } from "./assemble.ts";
import { bootstrap } from "./bootstrap-objects.ts";
import { defaultNetwork, localhost } from "../network.ts";

/** What the service `kubernetes` leads to when nobody listens. */
const defaultPort = 6443;

/** Makes the objects that every server has, listens, and tells the store where. */
export async function makeReady(assembly: Assembly): Promise<void> {
  const { registry, catalog, clock, signal, access, admission, definitions, steps } = assembly;
  await steps.run(
    [
      "poststarthook/start-system-namespaces-controller",
      "poststarthook/scheduling/bootstrap-system-priority-classes",
    ],
    () => bootstrap(registry, catalog, signal),
  );
  await steps.run(["poststarthook/rbac/bootstrap-roles"], () => reconcileAccess(assembly));
  const noteTracking = () => noteTokenTracking(assembly, clock.now());
  await steps.run(["poststarthook/start-legacy-token-tracking-controller"], noteTracking);
  const objects = () => ensureServerObjects(assembly);
  await steps.run(["poststarthook/priority-and-fairness-config-producer"], objects);
  const followed = [feed(access.followed, assembly), admission.follow(assembly)];
  await steps.run(["informer-sync"], () => Promise.all(followed));
  await steps.run(
    ["poststarthook/start-apiextensions-controllers", "poststarthook/crd-informer-synced"],
    () => definitions.ready,
  );
  const port = await listen(assembly);
  const network = assembly.options.serviceNetwork ?? defaultNetwork;
  await steps.run(
    ["poststarthook/bootstrap-controller", "poststarthook/start-service-ip-repair-controllers"],
    () => ensureKubernetesService({ ...assembly, network, port: port ?? defaultPort }),
  );
}

/** The port; undefined for a server that listens nowhere. */
async function listen({ server, options }: Assembly): Promise<number | undefined> {
  const { host = localhost, port } = options;
  if (port === undefined) return undefined;
  await server.listen({ host, port });
  return server.address.port;
}

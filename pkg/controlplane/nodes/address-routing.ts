/** Which addresses of the API this server dials. */
import { defaultNodesSettings, ownPodCidrs } from "#nodes";
import type { Registry } from "#registry";
import { Dialer } from "#request";
import { AddressRoutes, type OwnNodes } from "#routing";
import type { StartOptions } from "../options.ts";
import type { ServerDependencies } from "../start/build-dependencies.ts";

/** The dialer of the server's clients, which knows the simulated nodes of the cluster. */
export function dialerOf(from: ServerDependencies, registry: () => Registry): Dialer {
  const { options } = from;
  const own = ownNodes(options);
  const forwardTargets = options.portForwardTargets ?? targetsOfNodes(options);
  return new Dialer(new AddressRoutes({ ...from, registry, own, forwardTargets }));
}

/** Those to which the simulated nodes of this process forward ports. */
function targetsOfNodes({ nodes }: StartOptions): readonly string[] {
  if ((nodes?.count ?? 0) === 0) return [];
  return nodes?.portForwardTargets ?? defaultNodesSettings.portForwardTargets;
}

function ownNodes({ nodes }: StartOptions): OwnNodes | undefined {
  if (nodes === undefined || nodes.count === 0) return undefined;
  const settings = { ...defaultNodesSettings, ...nodes };
  const { count, namePrefix } = settings;
  const numbers = Array.from({ length: count }, (_, number) => number);
  const names = new Set(numbers.map((number) => `${namePrefix}${number}`));
  const podCidrs = numbers.flatMap((number) => ownPodCidrs(settings, number));
  return { has: (name) => names.has(name), podCidrs };
}

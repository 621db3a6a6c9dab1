/** Resource requests and host ports of a pod, as integers. */
import { isSidecar, type Pod } from "#kinds";
import { Quantity } from "#meta";
import { plus, podTotal } from "#quota";

export interface HostPort {
  readonly protocol: string;
  readonly ip: string;
  readonly port: number;
}

export interface PodRequests {
  /** Requested amounts by resource: cpu in thousandths, others in whole units. */
  readonly amounts: ReadonlyMap<string, bigint>;
  readonly hostPorts: readonly HostPort[];
}

const nothing: PodRequests = { amounts: new Map(), hostPorts: [] };

/** Effective requests of a pod: containers or pod-level resources, plus overhead. */
export function podRequests({ spec = {} }: Pod): PodRequests {
  const total = { ...podTotal(spec, "requests"), ...spec.resources?.requests };
  const amounts = Object.entries(plus(total, spec.overhead ?? {})).map(
    ([name, text]) => [name, wholeAmount(name, text)] as const,
  );
  const hostPorts = hostPortsOf(spec);
  if (amounts.length === 0 && hostPorts.length === 0) return nothing;
  return { amounts: new Map(amounts), hostPorts };
}

/** Parses an amount of a resource: cpu in thousandths, others in whole units. */
export function wholeAmount(resource: string, text: string | undefined): bigint {
  const amount = Quantity.parse(text ?? "0");
  return resource === "cpu" ? amount.milliValue() : amount.value();
}

const anyAddress = "0.0.0.0";

function hostPortsOf({ containers = [], initContainers = [] }: NonNullable<Pod["spec"]>) {
  return [...containers, ...initContainers.filter(isSidecar)].flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort = 0, hostIP, protocol = "TCP" }): readonly HostPort[] =>
      hostPort > 0 ? [{ protocol, ip: hostIP || anyAddress, port: hostPort }] : [],
    ),
  );
}

/** Whether two host ports conflict. */
export function isConflict(left: HostPort, right: HostPort): boolean {
  if (left.protocol !== right.protocol || left.port !== right.port) return false;
  return left.ip === right.ip || left.ip === anyAddress || right.ip === anyAddress;
}

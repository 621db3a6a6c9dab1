import { needsHealthCheckNodePort, needsNodePort, type Service } from "#api";
import { internalError, invalid, plainFailure } from "#meta";
import { Path, Problems } from "#schema";
import type { PortOperation } from "./port-operation.ts";

/** What a service has of node ports, and which of them it took just now. */
export interface PortPlan {
  /** By the index of the service's port; 0 for none. */
  readonly nodePorts: readonly number[];
  readonly healthCheck: number;
  readonly taken: readonly number[];
}

/** Ports of a service that the set counts. */
export function portsOf(service: Service | undefined): readonly number[] {
  if (service === undefined) return [];
  const { healthCheckNodePort = 0 } = service.spec;
  return [...nodePortsOf(service), healthCheckNodePort].filter((port) => port !== 0);
}

function nodePortsOf({ spec }: Service): readonly number[] {
  return (spec.ports ?? []).map(({ nodePort = 0 }) => nodePort);
}

type ServicePort = NonNullable<Service["spec"]["ports"]>[number];

/**
 * Takes the node ports that a service needs beyond those of `old`. Does not change the service. Throws a
 * StatusError when a port cannot be had; what the operation took is then of no use.
 */
export function planPorts(
  ports: PortOperation,
  service: Service,
  old: Service | undefined,
): PortPlan {
  const picker = new PortPicker(ports, service);
  const nodePorts = old === undefined ? picker.pickAll() : picker.pickMore(nodePortsOf(old));
  const healthCheck = healthCheckOf(picker, service, old);
  return { nodePorts, healthCheck, taken: ports.taken };
}

function healthCheckOf(picker: PortPicker, service: Service, old: Service | undefined): number {
  const { healthCheckNodePort: given = 0 } = service.spec;
  const had = old !== undefined && needsHealthCheckNodePort(old);
  if (!needsHealthCheckNodePort(service) || had) return given;
  return picker.healthCheck(given);
}

class PortPicker {
  constructor(
    private readonly ports: PortOperation,
    private readonly service: Service,
  ) {}

  /** For a new service: the same number on TCP and UDP gets the same node port. */
  pickAll(): number[] {
    const chosen = new Map<number, number>();
    return this.eachPort(({ port, nodePort = 0 }, index) => {
      const before = chosen.get(port);
      const asked = nodePort || (before ?? this.askedFor(port));
      if (asked !== 0 && asked !== before) this.given(asked, index);
      const fresh = asked || this.next("nodePort");
      if (before === undefined) chosen.set(port, fresh);
      return fresh;
    });
  }

  /** For a changed service, which keeps what it has. */
  pickMore(held: readonly number[]): number[] {
    const mine = new Set(held);
    const uses = new Set<string>();
    return this.eachPort(({ protocol = "", nodePort = 0 }, index) => {
      if (nodePort !== 0 && !mine.has(nodePort)) this.given(nodePort, index);
      const fresh = nodePort || this.next("nodePort");
      mine.add(fresh);
      const use = `{${protocol} ${fresh}}`;
      if (uses.has(use)) throw plainFailure(`duplicate nodePort: ${use}`);
      uses.add(use);
      return fresh;
    });
  }

  /** A load balancer without allocateLoadBalancerNodePorts has only the node ports that it requests. */
  private eachPort(pick: (port: ServicePort, index: number) => number): number[] {
    const chooses = needsNodePort(this.service);
    return (this.service.spec.ports ?? []).map((port, index) =>
      port.nodePort || chooses ? pick(port, index) : 0,
    );
  }

  /** The node port that another entry of the same port number requests, for another protocol. */
  private askedFor(port: number): number {
    const all = this.service.spec.ports ?? [];
    return all.find((other) => other.port === port && other.nodePort)?.nodePort ?? 0;
  }

  private given(port: number, index: number): void {
    const why = this.ports.take(port);
    if (why === undefined) return;
    const problems = new Problems();
    problems.invalid(Path.of("spec.ports").index(index).child("nodePort"), port, why);
    const { name = "" } = this.service.metadata;
    throw invalid({ group: "", kind: "Service" }, name, problems);
  }

  private next(what: string): number {
    const port = this.ports.next();
    if (port !== undefined) return port;
    throw internalError(`failed to allocate a ${what}: range is full`);
  }

  healthCheck(given: number): number {
    if (given === 0) return this.next("HealthCheck NodePort");
    const why = this.ports.take(given);
    if (why === undefined) return given;
    throw internalError(`failed to allocate requested HealthCheck NodePort ${given}: ${why}`);
  }
}

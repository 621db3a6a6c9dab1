/** Warnings about overlapping ports, duplicate port names, and host IPs without host port. */
import type { Path } from "#schema";
import type { Container } from "./containers.ts";
import { eachContainer } from "../spec/pod-containers.ts";
import type { PodSpec } from "../spec/pod-spec.ts";

type Port = NonNullable<Container["ports"]>[number];

function clashOf(port: Port, other: Port): string | undefined {
  const [ip, otherIp] = [port.hostIP ?? "", other.hostIP ?? ""];
  const [number, otherNumber] = [port.hostPort ?? 0, other.hostPort ?? 0];
  if (ip === otherIp && number === otherNumber) return "duplicate";
  if (number === 0 || otherNumber === 0) return "overlapping";
  const isOpen = (ip === "") !== (otherIp === "");
  return number === otherNumber && isOpen ? "dangerously ambiguous" : undefined;
}

/** Warning about a host IP without host port; it contains the port as Go prints the struct. */
function hostIpWithoutPort({ name = "", containerPort, protocol = "", hostIP = "" }: Port): string {
  const goPort =
    `{Name:${name} HostPort:0 ContainerPort:${containerPort} Protocol:${protocol} ` +
    `HostIP:${hostIP}}`;
  return `hostIP set without hostPort: ${goPort}`;
}

function numberWarnings(spec: PodSpec, path: Path): readonly string[] {
  const warnings: string[] = [];
  const seen: { readonly port: Port; readonly containerPath: Path }[] = [];
  eachContainer(spec, path, ({ ports }, containerPath) => {
    for (const [index, port] of (ports ?? []).entries()) {
      const portPath = containerPath.child("ports").index(index);
      if (port.hostIP && !port.hostPort) warnings.push(`${portPath}: ${hostIpWithoutPort(port)}`);
      for (const other of seen) {
        const { containerPort, protocol } = other.port;
        if (containerPort !== port.containerPort || protocol !== port.protocol) continue;
        const clash = clashOf(port, other.port);
        if (clash === undefined) continue;
        warnings.push(`${portPath}: ${clash} port definition with ${other.containerPath}`);
      }
      seen.push({ port, containerPath: portPath });
    }
  });
  return warnings;
}

function nameWarnings(spec: PodSpec, path: Path): readonly string[] {
  const warnings: string[] = [];
  const seen = new Map<string, Path>();
  eachContainer(spec, path, ({ ports }, containerPath) => {
    for (const [index, { name }] of (ports ?? []).entries()) {
      const portPath = containerPath.child("ports").index(index);
      if (!name) continue;
      const first = seen.get(name);
      if (first === undefined) seen.set(name, portPath);
      else {
        const effect = `services and probes that select ports by name will use ${first}`;
        warnings.push(`${portPath}: duplicate port name "${name}" with ${first}, ${effect}`);
      }
    }
  });
  return warnings;
}

export function portWarnings(spec: PodSpec, path: Path): readonly string[] {
  return [...numberWarnings(spec, path), ...nameWarnings(spec, path)];
}

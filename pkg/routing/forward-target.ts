import { lookup } from "node:dns/promises";
import { cidrContains, parseCidr, parseIp } from "#base";
import { perName, portForwardAnnotation } from "./simulated.ts";

/** An IP address and port. */
export interface ForwardTarget {
  readonly host: string;
  readonly port: number;
}

interface Annotated {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
}

/** The target in a pod's annotation for connections to a port, as text; undefined = none. */
export function annotatedTarget({ metadata }: Annotated, port: number): string | undefined {
  return perName(metadata.annotations?.[portForwardAnnotation], String(port));
}

/**
 * Parses a target, `127.0.0.1:3000`, and resolves a name to an address within the ranges.
 * @param ranges CIDRs of `--port-forward-targets`
 * @throws Error with the reason if the target is invalid or outside of the ranges
 */
export async function allowedTarget(
  target: string,
  ranges: readonly string[],
): Promise<ForwardTarget> {
  const [, bracketed, bare, port = ""] =
    /^(?:\[([^\]]+)\]|([^:\s]+)):(\d{1,5})$/.exec(target) ?? [];
  const host = bracketed ?? bare;
  if (host === undefined || !isPort(Number(port))) {
    throw new Error(`${JSON.stringify(target)} in the annotation is not host:port`);
  }
  const found = parseIp(host) ? [{ address: host }] : await lookup(host, { all: true });
  const allowed = found.find(({ address }) => isWithin(ranges, address));
  if (allowed === undefined) {
    throw new Error(`${host} is outside of --port-forward-targets (${ranges.join(",")})`);
  }
  return { host: allowed.address, port: Number(port) };
}

export function isPort(port: number): boolean {
  return Number.isInteger(port) && port > 0 && port < 65_536;
}

function isWithin(ranges: readonly string[], text: string): boolean {
  const address = parseIp(text);
  if (address === undefined) return false;
  return ranges.some((cidr) => {
    const range = parseCidr(cidr);
    return range !== undefined && cidrContains(range, address);
  });
}

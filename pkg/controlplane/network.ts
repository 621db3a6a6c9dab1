import { networkInterfaces } from "node:os";
import { isLoopback, parseCidr, parseIp } from "#base";
import type { ServiceNetwork } from "#registry";

/** kube-apiserver's defaults. */
export const defaultNetwork: ServiceNetwork = {
  cidrs: ["10.0.0.0/24"],
  nodePorts: { first: 30_000, last: 32_767 },
};

/** Target port of the Service `kubernetes` if the server does not listen. */
export const serverPort = 6443;

/** An invalid network flag; the message is shown to the user unchanged. */
export class NetworkFlagError extends Error {
  override readonly name = "NetworkFlagError";
}

/**
 * Parses `--service-cluster-ip-range` and `--service-node-port-range`.
 * @throws NetworkFlagError
 */
export function serviceNetworkOf(cidrs: readonly string[], nodePorts: string): ServiceNetwork {
  const families = cidrs.map(familyOf);
  if (cidrs.length < 1 || cidrs.length > 2 || new Set(families).size < cidrs.length) {
    throw new NetworkFlagError(
      "--service-cluster-ip-range must be one CIDR, or one of each IP family: " +
        "10.0.0.0/24,fd00:10::/112",
    );
  }
  const [, first, last] = /^(\d+)-(\d+)$/.exec(nodePorts)?.map(Number) ?? [];
  if (!first || !last || first > last || last > 65_535) {
    throw new NetworkFlagError("--service-node-port-range must look like 30000-32767");
  }
  return { cidrs, nodePorts: { first, last } };
}

function familyOf(text: string): number {
  const cidr = parseCidr(text);
  if (cidr !== undefined) return cidr.address.length;
  throw new NetworkFlagError(`--service-cluster-ip-range: ${JSON.stringify(text)} is not a CIDR`);
}

/**
 * Address that is published as an endpoint of the Service `kubernetes`: `host`, or an address of
 * this host if that is unspecified or loopback, as in kube-apiserver; undefined if there is none.
 */
export function reachableAddress(host: string): string | undefined {
  const address = parseIp(host);
  if (address === undefined) return undefined;
  if (!isWildcardAddress(host) && !isLoopback(address)) return host;
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return all.find(({ internal, family }) => !internal && family === "IPv4")?.address;
}

/** Default address to listen on. */
export const localhost = "127.0.0.1";

/** Whether a server that listens on `host` accepts connections to all addresses of the host. */
export function isWildcardAddress(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** The host in URLs for clients on this host. */
export function urlHost(host: string): string {
  if (isWildcardAddress(host)) return localhost;
  return host.includes(":") ? `[${host}]` : host;
}

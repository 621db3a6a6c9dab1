import { lookup } from "node:dns/promises";
import { isGlobalUnicast, parseIp } from "#base";
import { badRequest } from "#meta";

/** Returns all IP addresses of a host name, or the address itself. */
export type ResolveHost = (host: string) => Promise<readonly string[]>;

const resolveBySystem: ResolveHost = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);

/**
 * The addresses of a host, to one of which a proxy must connect: resolving the name again could return
 * others (DNS rebinding).
 *
 * @throws StatusError 400 if the host has no address, or one that is not global unicast: loopback,
 * link-local, multicast, unspecified, or with a zone
 */
export async function globalAddresses(
  host: string,
  resolve: ResolveHost = resolveBySystem,
): Promise<readonly string[]> {
  const addresses = await resolve(host).catch(() => {
    throw badRequest(`lookup ${host}: no such host`);
  });
  if (addresses.length === 0) throw badRequest("no addresses for hostname");
  for (const text of addresses) {
    const address = parseIp(text);
    if (address === undefined || !isGlobalUnicast(address)) throw badRequest("address not allowed");
  }
  return addresses;
}

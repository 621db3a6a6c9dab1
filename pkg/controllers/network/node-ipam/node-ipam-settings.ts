/** Cluster networks from which node networks are allocated. */
import { type Cidr, networkOf, parseCidr } from "#base";

/** Values of flags. */
export interface NodeIpamFlags {
  /** `--cluster-cidr`: one network, or two of different families, comma-separated. */
  readonly clusterCidr: string;
  /** `--service-cluster-ip-range`, likewise; "" = none. */
  readonly serviceRange: string;
  /** Prefix lengths of the networks of nodes; 0 = the default. */
  readonly maskSize: number;
  readonly maskSizeIpv4: number;
  readonly maskSizeIpv6: number;
}

export interface NodeIpamSettings {
  readonly clusterNetworks: readonly { readonly cidr: Cidr; readonly nodePrefix: number }[];
  /** Service networks, which are never allocated to nodes. */
  readonly serviceNetworks: readonly Cidr[];
}

const defaultPrefixes = { 4: 24, 16: 64 } as const;
const maxNetworks = 2;

/** @throws RangeError that says which flags are wrong */
export function parseNodeIpam(flags: NodeIpamFlags): NodeIpamSettings {
  const cidrs = parseNetworks("--cluster-cidr", flags.clusterCidr);
  if (cidrs.length === 0) throw new RangeError("--cluster-cidr must be set");
  const prefixes = nodePrefixes(flags, cidrs);
  const clusterNetworks = cidrs.map((cidr, index) => {
    const nodePrefix = prefixes[index]!;
    const { prefix } = networkOf(cidr);
    if (prefix > nodePrefix) {
      throw new RangeError(
        `the prefix of --cluster-cidr (${prefix}) must be at most that of nodes (${nodePrefix})`,
      );
    }
    return { cidr, nodePrefix };
  });
  const serviceNetworks = parseNetworks("--service-cluster-ip-range", flags.serviceRange);
  return { clusterNetworks, serviceNetworks };
}

function parseNetworks(flag: string, text: string): readonly Cidr[] {
  const words = text.split(",").flatMap((word) => (word.trim() === "" ? [] : [word.trim()]));
  const cidrs = words.map((word) => {
    const cidr = parseCidr(word);
    if (cidr === undefined) throw new RangeError(`${flag}: ${JSON.stringify(word)} is not a CIDR`);
    return cidr;
  });
  if (cidrs.length > maxNetworks) throw new RangeError(`${flag} takes at most two networks`);
  const families = new Set(cidrs.map(familyOf));
  if (families.size < cidrs.length) {
    throw new RangeError(`${flag}: two networks must be of different IP families`);
  }
  return cidrs;
}

/** Length of an address in bytes. */
function familyOf(cidr: Cidr): 4 | 16 {
  return networkOf(cidr).address.length === 4 ? 4 : 16;
}

function nodePrefixes(
  { maskSize, maskSizeIpv4, maskSizeIpv6 }: NodeIpamFlags,
  cidrs: readonly Cidr[],
): readonly number[] {
  if (maskSize !== 0 && cidrs.length > 1) {
    throw new RangeError("--node-cidr-mask-size is not allowed with two networks");
  }
  if (maskSize !== 0 && (maskSizeIpv4 !== 0 || maskSizeIpv6 !== 0)) {
    throw new RangeError(
      "--node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6 are not allowed with " +
        "--node-cidr-mask-size",
    );
  }
  const families = cidrs.map(familyOf);
  if (maskSizeIpv4 !== 0 && !families.includes(4)) {
    throw new RangeError("--node-cidr-mask-size-ipv4 is not allowed without an IPv4 network");
  }
  if (maskSizeIpv6 !== 0 && !families.includes(16)) {
    throw new RangeError("--node-cidr-mask-size-ipv6 is not allowed without an IPv6 network");
  }
  const own = { 4: maskSizeIpv4, 16: maskSizeIpv6 };
  return families.map((family) => maskSize || own[family] || defaultPrefixes[family]);
}

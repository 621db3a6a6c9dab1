/** How the API server reaches kubelets, simulated ones of its own process among them. */
import { type Clock, realClock } from "#base";
import { issueCertificate, type KeyPair } from "#pki";
import type { RegistryOptions } from "#registry";
import type { KubeletTls } from "#server";
import type { Credentials } from "../credentials/credentials.ts";
import type { StartOptions } from "../options.ts";

/** Certificates between the parts of one process are made at each start. */
const validDays = 3650;

export interface KubeletParts {
  readonly options: StartOptions;
  readonly credentials: Credentials | undefined;
  readonly clock: Clock;
}

function hasNodes({ nodes }: StartOptions): boolean {
  return (nodes?.count ?? 0) > 0;
}

/** Simulated nodes have names that no resolver knows: they are reached by their IP address. */
export function kubeletAddressTypesOf(
  options: StartOptions,
): Pick<RegistryOptions, "kubeletAddressTypes"> {
  const { kubeletAddressTypes: given = [] } = options;
  if (given.length > 0) return { kubeletAddressTypes: given };
  if (!hasNodes(options)) return {};
  const byName = ["Hostname", "InternalDNS", "ExternalDNS"];
  return { kubeletAddressTypes: ["InternalIP", ...byName, "ExternalIP"] };
}

/** The options, with a client certificate for simulated nodes if they name none. */
export async function kubeletTls({
  options,
  credentials,
  clock,
}: KubeletParts): Promise<KubeletTls> {
  const { kubelet = {} } = options;
  const authority = credentials?.generated?.authority;
  if (!hasNodes(options) || authority === undefined) return kubelet;
  if (kubelet.cert !== undefined || kubelet.ca !== undefined) return kubelet;
  const { certificate, privateKey } = await issueCertificate(authority, {
    commonName: "kube-apiserver-kubelet-client",
    organizations: ["system:masters"],
    usage: "client",
    validDays,
    now: realClock(clock).now(),
  });
  return { ca: authority.certificate, cert: certificate, key: privateKey };
}

/** The serving certificate of all simulated nodes, which have one address. */
export function kubeletCertificate(
  authority: KeyPair,
  { address, clock }: { readonly address: string; readonly clock: Clock },
): Promise<KeyPair> {
  return issueCertificate(authority, {
    commonName: "system:node:simulated",
    organizations: ["system:nodes"],
    hosts: [address],
    usage: "server",
    validDays,
    now: realClock(clock).now(),
  });
}

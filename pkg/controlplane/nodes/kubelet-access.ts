/** How the API server connects to kubelets, including simulated ones in its process. */
import { type Clock, realClock } from "#base";
import { issueCertificate, type KeyPair } from "#pki";
import type { RegistryOptions } from "#registry";
import type { KubeletTls } from "#server";
import type { Credentials } from "../credentials/credentials.ts";
import type { StartOptions } from "../options.ts";

/** Validity of certificates between parts of one process, which are generated at each start. */
const validDays = 3650;

export interface KubeletParts {
  readonly options: StartOptions;
  readonly credentials: Credentials | undefined;
  readonly clock: Clock;
}

function hasNodes({ nodes }: StartOptions): boolean {
  return (nodes?.count ?? 0) > 0;
}

/**
 * Types of node addresses to connect to: IP addresses first for simulated nodes, whose names do not
 * resolve.
 */
export function kubeletAddressTypesOf(
  options: StartOptions,
): Pick<RegistryOptions, "kubeletAddressTypes"> {
  const { kubeletAddressTypes: given = [] } = options;
  if (given.length > 0) return { kubeletAddressTypes: given };
  if (!hasNodes(options)) return {};
  const byName = ["Hostname", "InternalDNS", "ExternalDNS"];
  return { kubeletAddressTypes: ["InternalIP", ...byName, "ExternalIP"] };
}

/**
 * The kubelet TLS options, with a generated client certificate for simulated nodes if they have
 * none.
 */
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

/** Generates the serving certificate of the simulated nodes, which share one address. */
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

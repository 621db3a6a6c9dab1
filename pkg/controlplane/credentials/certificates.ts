import path from "node:path";
import type { KeyPair, LeafOptions } from "#pki";
import { ensureAuthority, ensureLeaf, ensureSigningKey, localHosts } from "./credentials.ts";
import { writeFileAtomically } from "../files/files.ts";
import { kubeconfig } from "./kubeconfig.ts";

export interface CertificateOptions {
  readonly directory: string;
  /** Names and addresses of API servers and etcd members, in addition to those of this host. */
  readonly hosts: readonly string[];
  /** URL of the API in kubeconfigs: of a server or a load balancer. */
  readonly url: string;
  readonly now: number;
}

/** Users that get a kubeconfig, and the groups in their client certificates. */
const users = [
  { name: "admin", commonName: "admin", organizations: ["system:masters"] },
  { name: "controller-manager", commonName: "system:kube-controller-manager" },
  { name: "scheduler", commonName: "system:kube-scheduler" },
  { name: "monitoring", commonName: "monitoring", organizations: ["system:monitoring"] },
] as const;

/**
 * Creates the credentials that the replicas of a cluster share, unless valid ones exist: the CAs of
 * the API, of front proxies and of etcd; server, peer and client certificates; the service account
 * key; kubeconfigs.
 */
export async function makeCertificates(options: CertificateOptions): Promise<void> {
  const { directory, now, url } = options;
  const hosts = [...new Set([...localHosts(), ...options.hosts])].sort();
  const leaf = (
    name: string,
    authority: KeyPair,
    what: Omit<LeafOptions, "validDays" | "now">,
  ): Promise<KeyPair> => ensureLeaf({ directory, now, name }, authority, what);

  const authority = await ensureAuthority({ directory, now, name: "ca" });
  await leaf("apiserver", authority, { commonName: "kube-apiserver", hosts, usage: "server" });
  await leaf("kubelet-client", authority, {
    commonName: "kube-apiserver-kubelet-client",
    organizations: ["kubeadm:cluster-admins"],
    usage: "client",
  });
  for (const { name, ...subject } of users) {
    const client = await leaf(name, authority, { ...subject, usage: "client" });
    const text = kubeconfig({
      url,
      serverCa: authority.certificate,
      user: name,
      credential: client,
    });
    await writeFileAtomically(path.join(directory, `${name}.kubeconfig`), text, 0o600);
  }
  const proxies = await ensureAuthority({ directory, now, name: "front-proxy-ca" });
  await leaf("front-proxy-client", proxies, { commonName: "front-proxy-client", usage: "client" });
  const store = await ensureAuthority({ directory, now, name: "etcd-ca" });
  await leaf("etcd", store, { commonName: "etcd", hosts, usage: "peer" });
  await leaf("etcd-client", store, { commonName: "kube-apiserver", usage: "client" });
  await ensureSigningKey(directory, "RS256");
}

import type { KeyPair } from "#pki";

interface KubeconfigOptions {
  readonly url: string;
  /** CA certificates that verify the server (PEM). */
  readonly serverCa: string;
  /** What the user is called in the file; the certificate says who that is. */
  readonly user: string;
  readonly client: KeyPair;
}

/** A kubeconfig for a user who authenticates with a client certificate. */
export function kubeconfig({ url, serverCa, user, client }: KubeconfigOptions): string {
  const data = (text: string) => Buffer.from(text).toString("base64");
  return [
    "apiVersion: v1",
    "kind: Config",
    "clusters:",
    "- name: keelson",
    "  cluster:",
    `    server: ${url}`,
    `    certificate-authority-data: ${data(serverCa)}`,
    "users:",
    `- name: ${user}`,
    "  user:",
    `    client-certificate-data: ${data(client.certificate)}`,
    `    client-key-data: ${data(client.privateKey)}`,
    "contexts:",
    "- name: keelson",
    "  context:",
    "    cluster: keelson",
    `    user: ${user}`,
    "current-context: keelson",
    "preferences: {}",
    "",
  ].join("\n");
}

import type { KeyPair } from "#pki";

interface KubeconfigOptions {
  readonly url: string;
  /** CA certificates that verify the server (PEM). */
  readonly serverCa: string;
  /** Name of the user entry in the file; the credential determines the identity. */
  readonly user: string;
  /** Client certificate with its key, or bearer token. */
  readonly credential: KeyPair | string;
}

/** A kubeconfig with one cluster and one user. */
export function kubeconfig({ url, serverCa, user, credential }: KubeconfigOptions): string {
  const data = (text: string) => Buffer.from(text).toString("base64");
  const fields =
    typeof credential === "string"
      ? [`token: ${credential}`]
      : [
          `client-certificate-data: ${data(credential.certificate)}`,
          `client-key-data: ${data(credential.privateKey)}`,
        ];
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
    ...fields.map((field) => `    ${field}`),
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

import type { Credentials } from "./credentials.ts";

/** A kubeconfig for the user `admin`, who authenticates with a client certificate. */
export function kubeconfig(url: string, { authority, admin }: Credentials): string {
  const data = (text: string) => Buffer.from(text).toString("base64");
  return [
    "apiVersion: v1",
    "kind: Config",
    "clusters:",
    "- name: keelson",
    "  cluster:",
    `    server: ${url}`,
    `    certificate-authority-data: ${data(authority.certificate)}`,
    "users:",
    "- name: admin",
    "  user:",
    `    client-certificate-data: ${data(admin.certificate)}`,
    `    client-key-data: ${data(admin.privateKey)}`,
    "contexts:",
    "- name: keelson",
    "  context:",
    "    cluster: keelson",
    "    user: admin",
    "current-context: keelson",
    "preferences: {}",
    "",
  ].join("\n");
}

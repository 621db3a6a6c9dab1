import { systemClock } from "#base";
import { flag, parseFlags, UsageError } from "../flags/parse.ts";
import { makeCertificates } from "#controlplane";

export const certificatesFlags = {
  directory: flag("string", "pki", "folder of the files; what is there and good stays"),
  hosts: flag("list", [], "names and addresses of the servers and of etcd, besides this machine's"),
  server: flag("string", "https://localhost:6443", "URL in the kubeconfigs"),
} as const;

/** `keelson certificates`: everything that the programs of a cluster have to share. */
export async function runCertificates(words: readonly string[]): Promise<void> {
  const { directory, hosts, server } = parseFlags(certificatesFlags, words);
  if (!/^https?:/.test(server) || !URL.canParse(server)) {
    throw new UsageError(`--server: ${JSON.stringify(server)} is not like https://localhost:6443`);
  }
  await makeCertificates({ directory, hosts, url: server, now: systemClock.now() });
  console.log(`keelson: certificates, keys and kubeconfigs are in ${directory}`);
}

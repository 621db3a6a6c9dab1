import { systemClock } from "#base";
import { flag, parseFlags, UsageError } from "../flags/parse.ts";
import { makeCertificates } from "#controlplane";

const certificatesFlags = {
  directory: flag("string", "pki", "directory of the files; valid files are not replaced"),
  hosts: flag(
    "list",
    [],
    "DNS names and IP addresses of API servers and etcd members, in addition to those of this " +
      "host, comma-separated",
  ),
  server: flag("string", "https://localhost:6443", "URL of the API server in kubeconfigs"),
} as const;

/** `keelson certificates`: creates the certificates, keys and kubeconfigs that a cluster shares. */
async function runCertificates(words: readonly string[]): Promise<void> {
  const { directory, hosts, server } = parseFlags(certificatesFlags, words);
  if (!/^https?:/.test(server) || !URL.canParse(server)) {
    throw new UsageError(
      `--server: ${JSON.stringify(server)} must be a URL such as https://localhost:6443`,
    );
  }
  await makeCertificates({ directory, hosts, url: server, now: systemClock.now() });
  console.log(`keelson: certificates, keys and kubeconfigs are in ${directory}`);
}

export const certificatesCommand = {
  groups: [{ heading: "Certificate", flags: certificatesFlags }],
  run: runCertificates,
} as const;

/** `npm run bench -- --compare=…`: compares Keelson with another API server. */
import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { rootCertificates } from "node:tls";
import {
  type BenchServer,
  keelson,
  kubeApiserver,
  type Launcher,
  startOnEtcd,
} from "../load/servers.ts";
import { compareServers, type ComparisonOptions, runningServer } from "./servers.ts";

export interface CompareOptions extends ComparisonOptions {
  /** URL of a running server, or path of a kube-apiserver to start. */
  readonly compare: string;
  readonly token: string;
  /** File with the CA certificates that verify the server (PEM). */
  readonly ca?: string | undefined;
  /** Do not verify the server's certificate. */
  readonly insecure: boolean;
  /** Process ID of the server if it runs on this host. */
  readonly comparePid?: number | undefined;
  /** Storage of Keelson. */
  readonly backend: "memory" | "etcd";
  /** Existing directory of certificates, credentials and logs. */
  readonly folder: string;
  readonly launcher?: Launcher;
}

export async function compare(options: CompareOptions): Promise<void> {
  const other = await otherServer(options);
  try {
    const own = await ownServer(options);
    try {
      await compareServers([own, other], options);
    } finally {
      await own.stop();
    }
  } finally {
    await other.stop();
  }
}

async function ownServer({ backend, folder, launcher }: CompareOptions): Promise<BenchServer> {
  const own = path.join(folder, "keelson");
  mkdirSync(own);
  const start = launcher ?? keelson(`keelson, ${backend}`);
  if (backend === "memory") return await start({ etcd: undefined, folder: own });
  return await startOnEtcd(start, own);
}

async function otherServer(options: CompareOptions): Promise<BenchServer> {
  const { compare: target, token, ca, insecure, comparePid, folder } = options;
  if (!URL.canParse(target)) {
    return await startOnEtcd(kubeApiserver(path.resolve(target)), path.join(folder, "other"));
  }
  const trusted = ca === undefined ? rootCertificates.join("\n") : readFileSync(ca, "utf8");
  const aim = { url: target.replace(/\/$/, ""), token };
  return await runningServer(insecure ? aim : { ...aim, ca: trusted }, comparePid);
}

import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import path from "node:path";
import type { Clock } from "#base";
import type { Domain } from "#meta";
import { createAuthority, issueCertificate } from "#pki";
import type { Endpoint } from "#request";
import { type ProxiedRequest, UpstreamProxy } from "#server";
import { kubeconfig } from "../credentials/kubeconfig.ts";
import { writeFileAtomically } from "../files/files.ts";
import { RequestFile } from "./request-file.ts";

export interface RecordingProxyOptions {
  readonly endpoint: Endpoint;
  /** Directory of the recording, for the kubeconfig and the recorded requests. */
  readonly directory: string;
  /** Port on 127.0.0.1; 0 = any free one. */
  readonly port: number;
  readonly domain: Domain;
  readonly clock: Clock;
  /** Called when a request has ended. */
  readonly ended: (request: ProxiedRequest) => void;
}

const host = "127.0.0.1";
const validDays = 365;

/**
 * Serves the recorded cluster on loopback. Clients use `proxy.kubeconfig` in the directory of the
 * recording, whose token and certificate are generated per run; the file is removed at the end.
 */
export class RecordingProxy {
  private constructor(
    /** Path of the kubeconfig. */
    readonly kubeconfig: string,
    private readonly proxy: UpstreamProxy,
    private readonly requests: RequestFile,
  ) {}

  static async start(options: RecordingProxyOptions): Promise<RecordingProxy> {
    const { clock, directory, ended, ...rest } = options;
    const now = clock.now();
    const authority = await createAuthority("keelson-record", { validDays, now });
    const names = { commonName: host, hosts: [host, "localhost"] };
    const leaf = { ...names, usage: "server", validDays, now } as const;
    const { certificate: cert, privateKey: key } = await issueCertificate(authority, leaf);
    const token = randomBytes(32).toString("hex");
    const requests = new RequestFile(directory, now);
    const record = (request: ProxiedRequest) => {
      requests.write(request);
      ended(request);
    };
    const common = { ...rest, clock, token, tls: { cert, key }, ended: record };
    const proxy = await UpstreamProxy.listen(common).catch((error: unknown) => {
      requests.close();
      throw error;
    });
    const file = path.join(directory, "proxy.kubeconfig");
    const url = `https://${host}:${proxy.port}`;
    const serverCa = authority.certificate;
    const text = kubeconfig({ url, serverCa, user: "keelson-record", credential: token });
    await writeFileAtomically(file, text, 0o600);
    return new RecordingProxy(file, proxy, requests);
  }

  /** Closes all connections and removes the kubeconfig. */
  async close(): Promise<void> {
    await rm(this.kubeconfig, { force: true });
    await this.proxy.close();
    this.requests.close();
  }
}

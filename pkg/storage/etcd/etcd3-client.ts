import type { Etcd3 } from "etcd3";
import { trustAuthorities } from "#base";
import type { EtcdTls } from "./grpc/channel.ts";

export interface Etcd3ClientOptions {
  /** Unique name of the connection in this process. */
  readonly connection: string;
  readonly endpoint: string;
  readonly tls: EtcdTls | undefined;
  readonly keepAliveMs: number;
}

/** Opens an etcd3 client of one member, with a separate connection, for leases and compaction. */
export async function openEtcd3Client(options: Etcd3ClientOptions): Promise<Etcd3> {
  const { connection, endpoint, tls, keepAliveMs } = options;
  const [etcd3, { noop }] = await Promise.all([import("etcd3"), import("cockatiel")]);
  return new etcd3.Etcd3({
    hosts: endpoint,
    // The default policies of etcd3 repeat writes and reject all calls after one failure.
    faultHandling: { host: () => noop, global: noop },
    ...(tls === undefined ? {} : { credentials: credentials(tls) }),
    grpcOptions: {
      "grpc.keepalive_time_ms": keepAliveMs,
      "grpc.keepalive_timeout_ms": Math.ceil(keepAliveMs / 2),
      // gRPC channels with equal options share a TCP connection; a new connection must not.
      "keelson.connection": connection,
    },
  });
}

function credentials({ ca, cert, key }: EtcdTls): {
  rootCertificate: Buffer;
  privateKey?: Buffer;
  certChain?: Buffer;
} {
  return {
    // The type requires a root certificate, but gRPC uses the system's roots for undefined.
    rootCertificate: (ca && Buffer.from(trustAuthorities(ca.toString("utf8")))) as Buffer,
    ...(key === undefined ? {} : { privateKey: key }),
    ...(cert === undefined ? {} : { certChain: cert }),
  };
}

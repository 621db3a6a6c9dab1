import { type Flag, flag } from "../flags/parse.ts";

const accepted = "accepted, without effect";

/** Flags that only tune etcd, by type, separated by spaces. */
const tuning = {
  bool: `
    client-cert-auth enable-pprof enable-v2 initial-election-tick-advance peer-client-cert-auth
    pre-vote strict-reconfig-check unsafe-no-fsync`,
  string: `
    advertise-client-urls auto-compaction-mode auto-compaction-retention
    backend-batch-interval backend-batch-limit backend-bbolt-freelist-type
    election-timeout feature-gates grpc-keepalive-interval grpc-keepalive-min-time
    grpc-keepalive-timeout heartbeat-interval host-whitelist initial-advertise-peer-urls
    initial-cluster initial-cluster-state initial-cluster-token listen-client-http-urls
    listen-metrics-urls listen-peer-urls log-format log-level log-outputs logger
    max-concurrent-streams max-request-bytes max-snapshots max-txn-ops max-wals metrics name
    quota-backend-bytes snapshot-count wal-dir warning-apply-duration`,
} as const;

function tuningFlags(type: keyof typeof tuning): readonly (readonly [string, Flag])[] {
  const initial = type === "bool" ? false : "";
  return tuning[type]
    .trim()
    .split(/\s+/)
    .map((name) => [name, flag(type, initial, accepted)]);
}

/** Flags of the stand-in for etcd that have an effect. */
export const etcdFlags = {
  "data-dir": flag(
    "string",
    "default.etcd",
    "directory of the objects that persist after the server exits",
  ),
  "listen-client-urls": flag("list", ["http://localhost:2379"], "URLs to listen on; plain HTTP"),
} as const;

/** All flags of the stand-in. */
export const allEtcdFlags: typeof etcdFlags & Readonly<Record<string, Flag>> = {
  ...Object.fromEntries([...tuningFlags("bool"), ...tuningFlags("string")]),
  ...etcdFlags,
};

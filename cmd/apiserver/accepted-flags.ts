/**
 * Flags of kube-apiserver that tune something which Keelson does automatically or not at all. They
 * are accepted without effect, so that command lines written for kube-apiserver work. Flags that
 * would change responses if they had an effect are rejected as unknown, such as
 * --cors-allowed-origins, --tls-cipher-suites, --tls-sni-cert-key and
 * --egress-selector-config-file.
 */
import { type Flag, flag, UsageError } from "../flags/parse.ts";

/** Names of the accepted flags by type, separated by spaces. */
const names = {
  bool: `
    contention-profiling emulation-forward-compatible
    enable-garbage-collector enable-logs-handler
    log-json-split-stream log-text-split-stream permit-address-sharing
    permit-port-sharing runtime-config-emulation-forward-compatible
    send-retry-after-while-not-ready-once watch-cache`,
  int: `
    apiserver-count default-watch-cache-size delete-collection-workers
    http2-max-streams-per-connection kubelet-port kubelet-read-only-port
    lease-reuse-duration-seconds max-connection-bytes-per-sec`,
  duration: `
    coordinated-leadership-lease-duration coordinated-leadership-renew-deadline
    coordinated-leadership-retry-period etcd-count-metric-poll-period etcd-db-metric-poll-interval
    etcd-healthcheck-timeout etcd-readycheck-timeout kubelet-timeout storage-initialization-timeout`,
  list: `
    allow-metric-labels disabled-metrics watch-cache-sizes`,
  string: `
    allow-metric-labels-manifest endpoint-reconciler-type external-hostname
    log-json-info-buffer-size log-text-info-buffer-size peer-advertise-ip peer-advertise-port
    peer-ca-file show-hidden-metrics-for-version
    vmodule`,
} as const;

const initial = { bool: false, int: 0, duration: 0, list: [], string: "" } as const;
const help = "accepted, without effect";

function flagsOf<T extends keyof typeof names>(type: T): readonly (readonly [string, Flag])[] {
  const each = names[type].trim().split(/\s+/);
  return each.map((name) => [name, { type, default: initial[type], help }]);
}

/** Flags that are accepted with the one value that Keelson implements. */
const fixed: ReadonlyMap<string, RegExp> = new Map([
  ["default-not-ready-toleration-seconds", /^300$/],
  ["default-unreachable-toleration-seconds", /^300$/],
  ["emulated-version", /^(?:kube=)?v?1\.34$/],
]);

/** The accepted flags by name. Their values are not used. */
export const acceptedFlags: Readonly<Record<string, Flag>> = Object.fromEntries([
  ...flagsOf("bool"),
  ...flagsOf("int"),
  ...flagsOf("duration"),
  ...flagsOf("list"),
  ...flagsOf("string"),
  ...[...fixed.keys()].map((name) => [name, flag("string", "", help)] as const),
]);

/**
 * Names of the accepted flags in `words`, for a warning.
 * @throws UsageError for a value that Keelson does not implement
 */
export function acceptedIn(
  words: readonly string[],
  values: Readonly<Record<string, unknown>>,
): readonly string[] {
  const end = words.indexOf("--");
  const given = words
    .slice(0, end < 0 ? words.length : end)
    .flatMap((word) => /^--([^=]+)/.exec(word)?.[1] ?? [])
    .filter((name) => Object.hasOwn(acceptedFlags, name));
  for (const name of given) {
    const value = String(values[name]);
    if (fixed.get(name)?.test(value) === false) {
      throw new UsageError(`--${name}=${value} is not supported`);
    }
  }
  return [...new Set(given)].sort();
}

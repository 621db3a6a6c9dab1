/** Safe sysctls, which a kubelet with default settings allows. */
import type { PodSpec } from "#kinds";

const safeSysctls: ReadonlySet<string> = new Set([
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.ping_group_range",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_rmem",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.tcp_wmem",
]);

/** Message of the first forbidden sysctl of a pod; undefined = all are allowed. */
export function forbiddenSysctl({
  securityContext,
  hostNetwork,
  hostIPC,
}: PodSpec): string | undefined {
  for (const { name: given } of securityContext?.sysctls ?? []) {
    const name = withDots(given);
    const shown = JSON.stringify(name);
    if (!safeSysctls.has(name)) return `forbidden sysctl: ${shown} not allowlisted`;
    const isShared = name.startsWith("net.") ? hostNetwork : hostIPC;
    const namespace = name.startsWith("net.") ? "Net" : "IPC";
    if (isShared === true) {
      return `forbidden sysctl: ${shown} not allowed with host ${namespace} enabled`;
    }
  }
  return undefined;
}

/** Normalizes separators: slashes replace dots if the first separator is a slash. */
function withDots(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  if (first !== "/") return name;
  return name.replace(/[./]/g, (separator) => (separator === "/" ? "." : "/"));
}

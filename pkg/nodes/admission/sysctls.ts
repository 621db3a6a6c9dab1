/** Sysctls that a kubelet with default settings lets pods set: those of their own namespaces. */
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

/** Why a kubelet does not let the pod set one of its sysctls; undefined = it does. */
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

/** Sysctls may be written with slashes instead of dots: the first separator tells. */
function withDots(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  if (first !== "/") return name;
  return name.replace(/[./]/g, (separator) => (separator === "/" ? "." : "/"));
}

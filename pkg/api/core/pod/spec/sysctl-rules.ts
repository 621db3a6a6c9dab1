/** Validation of sysctls. */
import type { Path, Problems } from "#schema";
import type { PodSpec } from "./pod-spec.ts";

const maxNameLength = 253;
const part = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const form = `^(${part}[\\./])*${part}$`;
const name = new RegExp(form);

/** Normalizes to dots as separators: `net/ipv4/a.b` is `net.ipv4.a/b`. */
function withDots(sysctl: string): string {
  if (/[./]/.exec(sysctl)?.[0] !== "/") return sysctl;
  return sysctl.replace(/[./]/g, (separator) => (separator === "/" ? "." : "/"));
}

/** Namespace that a sysctl belongs to; undefined if it belongs to neither. */
function namespaceOf(sysctl: string): "net" | "ipc" | undefined {
  const dotted = withDots(sysctl);
  if (dotted.startsWith("net.")) return "net";
  const isIpc = /^(kernel\.sem$|kernel\.shm|kernel\.msg|fs\.mqueue\.)/.test(dotted);
  return isIpc ? "ipc" : undefined;
}

export function checkSysctls(spec: PodSpec, path: Path, problems: Problems): void {
  const seen = new Set<string>();
  for (const [index, sysctl] of (spec.securityContext?.sysctls ?? []).entries()) {
    const namePath = path.index(index).child("name");
    if (sysctl.name === "") problems.required(namePath);
    else if (sysctl.name.length > maxNameLength || !name.test(sysctl.name)) {
      const detail = `must have at most ${maxNameLength} characters and match regex ${form}`;
      problems.invalid(namePath, sysctl.name, detail);
    } else if (seen.has(sysctl.name)) problems.duplicate(namePath, sysctl.name);
    seen.add(sysctl.name);
    const namespace = namespaceOf(sysctl.name);
    const clash =
      (namespace === "net" && spec.hostNetwork && "hostNetwork") ||
      (namespace === "ipc" && spec.hostIPC && "hostIPC");
    if (!clash) continue;
    problems.invalid(namePath, sysctl.name, `may not be specified when '${clash}' is true`);
  }
}

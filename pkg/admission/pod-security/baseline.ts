/** Standard `baseline`: prevents known privilege escalations. */
import { type Domain, goQuote, resolve } from "#meta";
import { containersText, plural, quotedList, settersText, type Violation } from "./quoted.ts";

/** A pod or pod template, in hub form. */
export interface CheckedPod {
  readonly spec: any;
  readonly annotations: Readonly<Record<string, string>>;
  /** Init containers, containers, ephemeral containers, in the order of messages. */
  readonly containers: readonly any[];
  readonly domain: Domain;
  /** Minor version of the standard; Infinity = latest. */
  readonly minor: number;
  /**
   * Whether the pod has hostUsers false and the gate UserNamespacesPodSecurityStandards is enabled: checks of
   * procMount, runAsNonRoot and runAsUser do not apply.
   */
  readonly hasUserNamespace: boolean;
}

export type Check = (pod: CheckedPod) => Violation | undefined;

/** Names of the containers that match a predicate. */
export function those(
  { containers }: CheckedPod,
  test: (container: any) => boolean,
): readonly string[] {
  return containers.filter(test).map(({ name }) => name);
}

function appArmor(pod: CheckedPod): Violation | undefined {
  const allowed = ["RuntimeDefault", "Localhost"];
  const isBad = (profile: any): boolean => Boolean(profile) && !allowed.includes(profile.type);
  const ofPod = pod.spec.securityContext?.appArmorProfile;
  const bad = pod.containers.filter((each) => isBad(each.securityContext?.appArmorProfile));
  const prefix = resolve("container.apparmor.security.beta.{label}/", pod.domain);
  const isAllowed = (value: string): boolean =>
    value === "" || value === "runtime/default" || value.startsWith("localhost/");
  const annotations = Object.entries(pod.annotations)
    .filter(([key, value]) => key.startsWith(prefix) && !isAllowed(value))
    .map(([key, value]) => `${key}=${goQuote(value)}`)
    .sort();
  const setters = settersText(
    isBad(ofPod),
    bad.map(({ name }) => name),
    annotations,
  );
  if (setters === "") return undefined;
  const types = [
    ...(isBad(ofPod) ? [ofPod.type] : []),
    ...bad.map((each) => each.securityContext.appArmorProfile.type),
  ];
  const values = [...[...new Set(types)].sort(), ...annotations];
  return {
    reason: plural("forbidden AppArmor profile", "forbidden AppArmor profiles", values.length),
    detail: `${setters} must not set AppArmor profile type to ${quotedList(values)}`,
  };
}

const defaultCapabilities = new Set(
  (
    "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID " +
    "SETPCAP SETUID SYS_CHROOT"
  ).split(" "),
);

function capabilities(pod: CheckedPod): Violation | undefined {
  const added = (container: any): readonly string[] =>
    (container.securityContext?.capabilities?.add ?? []).filter(
      (name: string) => !defaultCapabilities.has(name),
    );
  const names = those(pod, (container) => added(container).length > 0);
  if (names.length === 0) return undefined;
  const forbidden = [...new Set(pod.containers.flatMap(added))].sort();
  const what = `must not include ${quotedList(forbidden)} in securityContext.capabilities.add`;
  return { reason: "non-default capabilities", detail: `${containersText(names)} ${what}` };
}

function hostNamespaces({ spec }: CheckedPod): Violation | undefined {
  const shared = ["hostNetwork", "hostPID", "hostIPC"].filter((name) => spec[name] === true);
  if (shared.length === 0) return undefined;
  return { reason: "host namespaces", detail: shared.map((name) => `${name}=true`).join(", ") };
}

function hostPaths({ spec }: CheckedPod): Violation | undefined {
  const names = (spec.volumes ?? [])
    .filter(({ hostPath }: any) => hostPath !== undefined)
    .map(({ name }: any) => name);
  if (names.length === 0) return undefined;
  const volumes = plural("volume", "volumes", names.length);
  return { reason: "hostPath volumes", detail: `${volumes} ${quotedList(names)}` };
}

function hostPorts(pod: CheckedPod): Violation | undefined {
  const used = ({ ports = [] }: any): readonly number[] =>
    ports.flatMap(({ hostPort = 0 }: any) => (hostPort === 0 ? [] : [hostPort]));
  const names = those(pod, (container) => used(container).length > 0);
  if (names.length === 0) return undefined;
  const ports = [...new Set(pod.containers.flatMap(used))].map(String).sort();
  const use = plural("uses", "use", names.length);
  const what = plural("hostPort", "hostPorts", ports.length);
  return {
    reason: "hostPort",
    detail: `${containersText(names)} ${use} ${what} ${ports.join(", ")}`,
  };
}

const probes = ["livenessProbe", "readinessProbe", "startupProbe"];

/** Hosts of probes and lifecycle handlers, which the kubelet would connect to from the node's network. */
function probedHosts(pod: CheckedPod): Violation | undefined {
  if (pod.minor < 34) return undefined;
  const hosts = (container: any): readonly string[] =>
    [
      ...probes.map((name) => container[name]),
      container.lifecycle?.postStart,
      container.lifecycle?.preStop,
    ]
      .flatMap((handler) => [handler?.httpGet?.host, handler?.tcpSocket?.host])
      .filter((host) => host !== undefined && host !== "");
  const names = [...new Set(those(pod, (container) => hosts(container).length > 0))].sort();
  if (names.length === 0) return undefined;
  const all = [...new Set(pod.containers.flatMap(hosts))].sort();
  const use = plural("uses", "use", names.length);
  const what = plural("host", "hosts", all.length);
  return {
    reason: "probe or lifecycle host",
    detail: `${containersText(names)} ${use} probe or lifecycle ${what} ${quotedList(all)}`,
  };
}

function privileged(pod: CheckedPod): Violation | undefined {
  const names = those(pod, ({ securityContext }) => securityContext?.privileged === true);
  if (names.length === 0) return undefined;
  const detail = `${containersText(names)} must not set securityContext.privileged=true`;
  return { reason: "privileged", detail };
}

function procMount(pod: CheckedPod): Violation | undefined {
  if (pod.hasUserNamespace) return undefined;
  const mountOf = ({ securityContext }: any): string => securityContext?.procMount ?? "Default";
  const names = those(pod, (container) => mountOf(container) !== "Default");
  if (names.length === 0) return undefined;
  const values = [...new Set(pod.containers.map(mountOf))].filter((value) => value !== "Default");
  const what = `must not set securityContext.procMount to ${quotedList(values.sort())}`;
  return { reason: "procMount", detail: `${containersText(names)} ${what}` };
}

const seLinuxTypes = ["", "container_t", "container_init_t", "container_kvm_t"];

function seLinux(pod: CheckedPod): Violation | undefined {
  const types = pod.minor < 31 ? seLinuxTypes : [...seLinuxTypes, "container_engine_t"];
  const isBad = ({ type = "", user = "", role = "" }: any = {}): boolean =>
    !types.includes(type) || user !== "" || role !== "";
  const ofPod = pod.spec.securityContext?.seLinuxOptions;
  const bad = pod.containers.filter((each) => isBad(each.securityContext?.seLinuxOptions));
  const options = [
    ...(isBad(ofPod) ? [ofPod] : []),
    ...bad.map(({ securityContext }) => securityContext.seLinuxOptions),
  ];
  if (options.length === 0) return undefined;
  const wrong = new Set(options.map(({ type = "" }) => type).filter((t) => !types.includes(t)));
  const faults = [
    ...(wrong.size > 0
      ? [`${plural("type", "types", wrong.size)} ${quotedList([...wrong].sort())}`]
      : []),
    ...(options.some(({ user = "" }) => user !== "") ? ["user may not be set"] : []),
    ...(options.some(({ role = "" }) => role !== "") ? ["role may not be set"] : []),
  ];
  const setters = settersText(
    isBad(ofPod),
    bad.map(({ name }) => name),
  );
  const what = `set forbidden securityContext.seLinuxOptions: ${faults.join("; ")}`;
  return { reason: "seLinuxOptions", detail: `${setters} ${what}` };
}

/** Seccomp profiles: annotations up to v1.18, fields since v1.19. */
function seccomp(pod: CheckedPod): Violation | undefined {
  return pod.minor < 19 ? seccompAnnotations(pod) : seccompFields(pod);
}

function seccompAnnotations({ annotations, containers, domain }: CheckedPod) {
  const allowed = ["runtime/default", "docker/default"];
  const prefix = resolve("container.seccomp.security.alpha.{label}/", domain);
  const keys = [
    resolve("seccomp.security.alpha.{label}/pod", domain),
    ...containers.map(({ name }) => `${prefix}${name}`),
  ];
  const forbidden = keys.flatMap((key) => {
    const value = Object.hasOwn(annotations, key) ? annotations[key] : undefined;
    const isFine = value === undefined || allowed.includes(value) || value.startsWith("localhost/");
    return isFine ? [] : [`${key}=${goQuote(value)}`];
  });
  if (forbidden.length === 0) return undefined;
  const texts = [...new Set(forbidden)].sort();
  const what = plural("annotation", "annotations", texts.length);
  return { reason: "seccompProfile", detail: `forbidden ${what} ${texts.join(", ")}` };
}

function seccompFields(pod: CheckedPod): Violation | undefined {
  const contexts = [pod.spec, ...pod.containers].map(({ securityContext }) => securityContext);
  const names = those(pod, ({ securityContext }) => hasForbiddenSeccomp(securityContext));
  const setters = settersText(hasForbiddenSeccomp(pod.spec.securityContext), names);
  if (setters === "") return undefined;
  const types = contexts
    .filter(hasForbiddenSeccomp)
    .map(({ seccompProfile }) => seccompProfile.type);
  const forbidden = quotedList([...new Set<string>(types)].sort());
  const what = `must not set securityContext.seccompProfile.type to ${forbidden}`;
  return { reason: "seccompProfile", detail: `${setters} ${what}` };
}

const seccompTypes = ["RuntimeDefault", "Localhost"];

function hasForbiddenSeccomp(context: any): boolean {
  const profile = context?.seccompProfile;
  return Boolean(profile) && !seccompTypes.includes(profile.type);
}

/** Allowed sysctls, with the minor version that first allowed each. */
const safeSysctls: ReadonlyMap<string, number> = new Map([
  ["kernel.shm_rmid_forced", 0],
  ["net.ipv4.ip_local_port_range", 0],
  ["net.ipv4.tcp_syncookies", 0],
  ["net.ipv4.ping_group_range", 0],
  ["net.ipv4.ip_unprivileged_port_start", 0],
  ["net.ipv4.ip_local_reserved_ports", 27],
  ["net.ipv4.tcp_keepalive_time", 29],
  ["net.ipv4.tcp_fin_timeout", 29],
  ["net.ipv4.tcp_keepalive_intvl", 29],
  ["net.ipv4.tcp_keepalive_probes", 29],
  ["net.ipv4.tcp_rmem", 32],
  ["net.ipv4.tcp_wmem", 32],
]);

function sysctls({ spec, minor }: CheckedPod): Violation | undefined {
  const names: readonly string[] = (spec.securityContext?.sysctls ?? [])
    .map(({ name }: any) => name)
    .filter(
      (name: string) => (safeSysctls.get(name) ?? Infinity) > minor || !safeSysctls.has(name),
    );
  if (names.length === 0) return undefined;
  return { reason: "forbidden sysctls", detail: names.join(", ") };
}

function hostProcess(pod: CheckedPod): Violation | undefined {
  const isBad = (context: any): boolean => context?.windowsOptions?.hostProcess === true;
  const names = those(pod, ({ securityContext }) => isBad(securityContext));
  const setters = settersText(isBad(pod.spec.securityContext), names);
  if (setters === "") return undefined;
  const what = "must not set securityContext.windowsOptions.hostProcess=true";
  return { reason: "hostProcess", detail: `${setters} ${what}` };
}

/** Checks replaced by checks of `restricted`, and the shared seccomp check. */
export { capabilities, hostPaths, seccomp, seccompFields };

/** Checks in the order of messages. */
export const baseline: readonly Check[] = [
  appArmor,
  capabilities,
  hostNamespaces,
  hostPaths,
  hostPorts,
  probedHosts,
  privileged,
  procMount,
  seLinux,
  seccomp,
  sysctls,
  hostProcess,
];

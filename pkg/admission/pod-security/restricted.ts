/** Standard `restricted`: pod hardening best practices, in addition to `baseline`. */
import {
  baseline,
  capabilities as baselineCapabilities,
  type Check,
  type CheckedPod,
  hostPaths,
  seccomp as baselineSeccomp,
  seccompFields,
  those,
} from "./baseline.ts";
import { containersText, plural, quotedList, settersText, type Violation } from "./quoted.ts";

/** Skips Windows pods since v1.25, which have no such settings. */
function forLinux(check: Check): Check {
  return (pod) => (pod.minor >= 25 && pod.spec.os?.name === "windows" ? undefined : check(pod));
}

function escalation(pod: CheckedPod): Violation | undefined {
  const names = those(
    pod,
    ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false,
  );
  if (names.length === 0) return undefined;
  const what = "must set securityContext.allowPrivilegeEscalation=false";
  return {
    reason: "allowPrivilegeEscalation != false",
    detail: `${containersText(names)} ${what}`,
  };
}

function capabilities(pod: CheckedPod): Violation | undefined {
  const added = ({ securityContext }: any): readonly string[] =>
    (securityContext?.capabilities?.add ?? []).filter(
      (name: string) => name !== "NET_BIND_SERVICE",
    );
  const keeping = those(
    pod,
    ({ securityContext }) => !(securityContext?.capabilities?.drop ?? []).includes("ALL"),
  );
  const adding = those(pod, (container) => added(container).length > 0);
  const forbidden = [...new Set(pod.containers.flatMap(added))].sort();
  const include = `must not include ${quotedList(forbidden)} in securityContext.capabilities.add`;
  const faults = [
    ...(keeping.length > 0
      ? [`${containersText(keeping)} must set securityContext.capabilities.drop=["ALL"]`]
      : []),
    ...(adding.length > 0 ? [`${containersText(adding)} ${include}`] : []),
  ];
  if (faults.length === 0) return undefined;
  return { reason: "unrestricted capabilities", detail: faults.join("; ") };
}

const volumeTypes = new Set([
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret",
]);

function volumes({ spec }: CheckedPod): Violation | undefined {
  const typeOf = (volume: any): string =>
    Object.keys(volume).find((key) => key !== "name" && volume[key] !== undefined) ?? "unknown";
  const bad = (spec.volumes ?? []).filter((volume: any) => !volumeTypes.has(typeOf(volume)));
  if (bad.length === 0) return undefined;
  const types = [...new Set<string>(bad.map(typeOf))].sort();
  const names = bad.map((volume: any) => volume.name);
  const who = `${plural("volume", "volumes", bad.length)} ${quotedList(names)}`;
  const use = plural("uses", "use", bad.length);
  const what = plural("restricted volume type", "restricted volume types", types.length);
  return {
    reason: "restricted volume types",
    detail: `${who} ${use} ${what} ${quotedList(types)}`,
  };
}

function nonRoot(pod: CheckedPod): Violation | undefined {
  if (pod.hasUserNamespace) return undefined;
  const reason = "runAsNonRoot != true";
  const valueOf = ({ securityContext }: any): unknown => securityContext?.runAsNonRoot ?? undefined;
  const refusing = those(pod, (container) => valueOf(container) === false);
  // False at pod level is a violation even if every container overrides it.
  const setters = settersText(valueOf(pod.spec) === false, refusing);
  if (setters !== "") {
    return { reason, detail: `${setters} must not set securityContext.runAsNonRoot=false` };
  }
  const unset = those(pod, (container) => valueOf(container) === undefined);
  if (valueOf(pod.spec) === true || unset.length === 0) return undefined;
  const setter = `pod or ${containersText(unset)}`;
  return { reason, detail: `${setter} must set securityContext.runAsNonRoot=true` };
}

function rootUser(pod: CheckedPod): Violation | undefined {
  if (pod.hasUserNamespace) return undefined;
  const isRoot = (context: any): boolean => Number(context?.runAsUser ?? 1) === 0;
  const names = those(pod, ({ securityContext }) => isRoot(securityContext));
  const setters = settersText(isRoot(pod.spec.securityContext), names);
  if (setters === "") return undefined;
  return { reason: "runAsUser=0", detail: `${setters} must not set runAsUser=0` };
}

function seccomp(pod: CheckedPod): Violation | undefined {
  const forbidden = seccompFields(pod);
  if (forbidden !== undefined) return forbidden;
  const isUnset = ({ securityContext }: any): boolean => !securityContext?.seccompProfile;
  const unset = those(pod, isUnset);
  if (!isUnset(pod.spec) || unset.length === 0) return undefined;
  const wanted = 'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"';
  return {
    reason: "seccompProfile",
    detail: `pod or ${containersText(unset)} must set ${wanted}`,
  };
}

interface RestrictedCheck {
  readonly check: Check;
  /** First minor version with the check. */
  readonly since: number;
  /** The check of `baseline` that it replaces, from that version on. */
  readonly replaces?: Check;
}

/** Checks in the order of messages. */
const stricter: readonly RestrictedCheck[] = [
  { check: forLinux(escalation), since: 8 },
  { check: forLinux(capabilities), since: 22, replaces: baselineCapabilities },
  { check: volumes, since: 0, replaces: hostPaths },
  { check: nonRoot, since: 0 },
  { check: rootUser, since: 23 },
  { check: forLinux(seccomp), since: 19, replaces: baselineSeccomp },
];

/** Checks of `restricted` in a minor version, starting with those of `baseline`. */
export function restricted(minor: number): readonly Check[] {
  const added = stricter.filter(({ since }) => minor >= since);
  const replaced = new Set(added.map(({ replaces }) => replaces));
  return [...baseline.filter((check) => !replaced.has(check)), ...added.map(({ check }) => check)];
}

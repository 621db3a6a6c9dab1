/** The standard `restricted`: what hardening asks of pods. */
import { baseline, type Check, type CheckedPod, superseded, those } from "./baseline.ts";
import { containersText, plural, quotedList, settersText, type Violation } from "./quoted.ts";

/** What only Linux knows is not asked of other systems, since pods say which one they are for. */
function forLinux(check: Check, { since }: { readonly since: number }): Check {
  return (pod) => {
    if (pod.minor < since) return undefined;
    return pod.minor >= 25 && pod.spec.os?.name === "windows" ? undefined : check(pod);
  };
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
  const told = [
    ...(keeping.length > 0
      ? [`${containersText(keeping)} must set securityContext.capabilities.drop=["ALL"]`]
      : []),
    ...(adding.length > 0 ? [`${containersText(adding)} ${include}`] : []),
  ];
  if (told.length === 0) return undefined;
  return { reason: "unrestricted capabilities", detail: told.join("; ") };
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
  const reason = "runAsNonRoot != true";
  const ofPod = pod.spec.securityContext?.runAsNonRoot;
  const refusing = those(pod, ({ securityContext }) => securityContext?.runAsNonRoot === false);
  const silent = those(pod, ({ securityContext }) => securityContext?.runAsNonRoot === undefined);
  // What the pod says matters only to containers that say nothing.
  const setters = settersText(ofPod === false && silent.length > 0, refusing);
  if (setters !== "") {
    return { reason, detail: `${setters} must not set securityContext.runAsNonRoot=false` };
  }
  if (ofPod === true || silent.length === 0) return undefined;
  const who = `pod or ${containersText(silent)}`;
  return { reason, detail: `${who} must set securityContext.runAsNonRoot=true` };
}

function rootUser(pod: CheckedPod): Violation | undefined {
  if (pod.minor < 23) return undefined;
  const isRoot = (context: any): boolean => Number(context?.runAsUser ?? 1) === 0;
  const names = those(pod, ({ securityContext }) => isRoot(securityContext));
  const setters = settersText(isRoot(pod.spec.securityContext), names);
  if (setters === "") return undefined;
  return { reason: "runAsUser=0", detail: `${setters} must not set runAsUser=0` };
}

function seccomp(pod: CheckedPod): Violation | undefined {
  const reason = "seccompProfile";
  const typeOf = (context: any): string | undefined => context?.seccompProfile?.type;
  const isBad = (context: any): boolean => {
    const type = typeOf(context);
    return type !== undefined && type !== "RuntimeDefault" && type !== "Localhost";
  };
  const ofPod = pod.spec.securityContext;
  const bad = pod.containers.filter(({ securityContext }) => isBad(securityContext));
  const setters = settersText(
    isBad(ofPod),
    bad.map(({ name }) => name),
  );
  if (setters !== "") {
    const contexts = [ofPod, ...bad.map(({ securityContext }) => securityContext)].filter(isBad);
    const types = new Set(contexts.map((context) => typeOf(context) ?? ""));
    const what = `must not set securityContext.seccompProfile.type to ${quotedList(types)}`;
    return { reason, detail: `${setters} ${what}` };
  }
  const silent = those(pod, ({ securityContext }) => typeOf(securityContext) === undefined);
  if (typeOf(ofPod) !== undefined || silent.length === 0) return undefined;
  const wanted = 'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"';
  return { reason, detail: `pod or ${containersText(silent)} must set ${wanted}` };
}

/** In the order in which violations are told. */
export const restricted: readonly Check[] = [
  ...baseline.filter((check) => !superseded.includes(check)),
  forLinux(escalation, { since: 8 }),
  forLinux(capabilities, { since: 22 }),
  volumes,
  nonRoot,
  rootUser,
  forLinux(seccomp, { since: 19 }),
];

/** Warnings about valid but questionable pods and pod templates. */
import { append } from "#base";
import { Path } from "#schema";
import { type HookContext, isDns1123Label } from "#meta";
import { labelDeprecation, nodeSelectorTermWarnings } from "../node/deprecated-labels.ts";
import { addressWarning } from "../../networking/ip.ts";
import { entry, duplicateIndexes } from "../../strategy.ts";
import type { Container } from "./container/containers.ts";
import { claimWarnings } from "../persistent-volume/persistent-volume-claim-rules.ts";
import { annotationKeys } from "./spec/pod-annotations.ts";
import { allContainers, eachContainer } from "./spec/pod-containers.ts";
import { portWarnings } from "./container/port-warnings.ts";
import type { PodSpec, PodTemplateSpec } from "./spec/pod-spec.ts";
import { projectionWarnings } from "../volume/projection-warnings.ts";
import { isFractional } from "../shared/resource-amounts.ts";
import type { Volume } from "../volume/volumes.ts";

type Domain = HookContext["domain"];

const none: readonly string[] = [];
type Template = Pick<PodTemplateSpec, "metadata" | "spec">;

/**
 * Warnings about a pod or pod template.
 * @param path path of the template; absent for a pod
 */
export function podWarnings(
  template: Template,
  path: Path | undefined,
  { domain, gate }: Pick<HookContext, "domain" | "gate">,
): readonly string[] {
  const root = path ?? Path.root;
  const { spec } = template;
  const specPath = root.child("spec");
  return [
    ...labelWarnings(spec, specPath, domain),
    ...annotationWarnings(template, root, domain),
    ...(spec.volumes ?? []).flatMap((volume, index) =>
      hasOldSource(volume) || volume.ephemeral !== undefined
        ? volumeWarnings(volume, specPath.child("volumes").index(index), gate)
        : none,
    ),
    ...projectionWarnings(spec.volumes ?? []),
    ...repetitions(spec, specPath),
    ...fractionsOf(spec.overhead, byteResources, specPath.child("overhead")),
    ...podSeccomp(template, root, domain),
    ...containerWarnings(template, root, { domain, isTemplate: path !== undefined }),
    ...portWarnings(spec, specPath),
    ...graceWarnings(spec, specPath),
    ...affinityWarnings(spec, specPath),
    ...addressWarnings(spec, specPath),
  ];
}

function labelWarnings(spec: PodSpec, path: Path, domain: Domain): readonly string[] {
  const warnings: string[] = [];
  for (const label of Object.keys(spec.nodeSelector ?? {}).sort()) {
    const fault = labelDeprecation(label, domain);
    if (fault !== undefined) warnings.push(`${path.child("nodeSelector").key(label)}: ${fault}`);
  }
  const { nodeAffinity } = spec.affinity ?? {};
  const nodeAffinityPath = path.child("affinity", "nodeAffinity");
  const required = nodeAffinityPath.child(requiredTerms, "nodeSelectorTerms");
  for (const [index, term] of (nodeAffinity?.[requiredTerms]?.nodeSelectorTerms ?? []).entries()) {
    append(
      warnings,
      nodeSelectorTermWarnings(term, required.index(index), { domain, checkValues: false }),
    );
  }
  for (const [index, { preference }] of (nodeAffinity?.[preferredTerms] ?? []).entries()) {
    const itemPath = nodeAffinityPath.child(preferredTerms).index(index).child("preference");
    append(warnings, nodeSelectorTermWarnings(preference, itemPath, { domain, checkValues: true }));
  }
  for (const [index, constraint] of (spec.topologySpreadConstraints ?? []).entries()) {
    const itemPath = path.child("topologySpreadConstraints").index(index);
    const fault = labelDeprecation(constraint.topologyKey, domain);
    if (fault !== undefined) {
      warnings.push(`${itemPath.child("topologyKey")}: ${constraint.topologyKey} is ${fault}`);
    }
    if (constraint.labelSelector === undefined) warnings.push(noSelector(itemPath));
  }
  return warnings;
}

const requiredTerms = "requiredDuringSchedulingIgnoredDuringExecution";
const preferredTerms = "preferredDuringSchedulingIgnoredDuringExecution";

function noSelector(path: Path): string {
  return `${path.child("labelSelector")}: a null labelSelector results in matching no pod`;
}

function annotationWarnings({ metadata }: Template, path: Path, domain: Domain): readonly string[] {
  if (metadata.annotations === undefined) return none;
  const keys = annotationKeys(domain);
  const useless = [
    [keys.critical, `non-functional in v1.16+; use the "priorityClassName" field instead`],
    [keys.sysctls, `non-functional in v1.11+; use the "sysctls" field instead`],
    [keys.unsafeSysctls, `non-functional in v1.11+; use the "sysctls" field instead`],
  ] as const;
  return useless.flatMap(([key, message]) =>
    entry(metadata.annotations, key) === undefined
      ? []
      : [`${path.child("metadata", "annotations").key(key)}: ${message}`],
  );
}

const seccompAnnotationWarning = `non-functional in v1.27+; use the "seccompProfile" field instead`;
const appArmorAnnotationWarning = `deprecated since v1.30; use the "appArmorProfile" field instead`;

/** Warnings about AppArmor annotations of new pods, before defaulting sets the field. */
export function appArmorWarnings(
  { metadata, spec }: Template,
  { domain }: Pick<HookContext, "domain">,
): readonly string[] {
  if (spec.os?.name === "windows") return [];
  const { appArmor } = annotationKeys(domain);
  return allContainers(spec).flatMap(({ name, securityContext }) => {
    const key = appArmor + name;
    const isFilled =
      entry(metadata.annotations, key) !== undefined &&
      securityContext?.appArmorProfile === undefined;
    return isFilled
      ? [`${Path.of("metadata.annotations").key(key)}: ${appArmorAnnotationWarning}`]
      : [];
  });
}

function podSeccomp({ metadata, spec }: Template, path: Path, domain: Domain): readonly string[] {
  const { seccompPod } = annotationKeys(domain);
  const isUsed = entry(metadata.annotations, seccompPod) !== undefined;
  if (!isUsed || spec.securityContext?.seccompProfile !== undefined) return [];
  return [`${path.child("metadata", "annotations").key(seccompPod)}: ${seccompAnnotationWarning}`];
}

/** Whether an AppArmor annotation equals the pod's profile. */
function isPodProfile({ securityContext }: PodSpec, annotation: string | undefined): boolean {
  const profile = securityContext?.appArmorProfile;
  if (profile === undefined || annotation === undefined) return false;
  if (profile.type === "Localhost") return annotation === `localhost/${profile.localhostProfile}`;
  return annotation === (profile.type === "Unconfined" ? "unconfined" : "runtime/default");
}

const oldSources = new Map(
  Object.entries({
    photonPersistentDisk: "deprecated in v1.11, non-functional in v1.16+",
    gitRepo: "deprecated in v1.11, and disabled by default in v1.33+",
    scaleIO: "deprecated in v1.16, non-functional in v1.22+",
    flocker: "deprecated in v1.22, non-functional in v1.25+",
    storageos: "deprecated in v1.22, non-functional in v1.25+",
    quobyte: "deprecated in v1.22, non-functional in v1.25+",
    glusterfs: "deprecated in v1.25, non-functional in v1.26+",
    cephfs: "deprecated in v1.28, non-functional in v1.31+",
    rbd: "deprecated in v1.28, non-functional in v1.31+",
  }),
);

function hasOldSource(volume: Volume): boolean {
  for (const name in volume) if (oldSources.has(name)) return true;
  return false;
}

/** Field of the source -> name in warnings, where they differ. */
const otherNames: Readonly<Record<string, string>> = { storageos: "storageOS" };

function oldSourceText(source: string, message: string, gate: HookContext["gate"]): string {
  return source === "gitRepo" && gate("GitRepoVolumeDriver") ? "deprecated in v1.11" : message;
}

function volumeWarnings(volume: Volume, path: Path, gate: HookContext["gate"]): readonly string[] {
  const old = [...oldSources].flatMap(([source, message]) =>
    volume[source as keyof Volume] === undefined
      ? []
      : [`${path.child(otherNames[source] ?? source)}: ${oldSourceText(source, message, gate)}`],
  );
  const template = volume.ephemeral?.volumeClaimTemplate;
  if (template === undefined) return old;
  const specPath = path.child("ephemeral", "volumeClaimTemplate", "spec");
  return [...old, ...claimWarnings(template.spec, specPath)];
}

function repetitions(spec: PodSpec, path: Path): readonly string[] {
  const { hostAliases: aliases = [], imagePullSecrets: secrets = [] } = spec;
  if (aliases.length === 0 && secrets.length === 0) return none;
  const secretPath = (index: number) => path.child("imagePullSecrets").index(index).child("name");
  const ipPath = (index: number) => path.child("hostAliases").index(index).child("ip");
  const repeatedIps = duplicateIndexes(aliases, ({ ip }) => ip);
  const repeatedNames = duplicateIndexes(secrets, ({ name = "" }) => name);
  return [
    ...[...repeatedIps].map((at) => `${ipPath(at)}: duplicate ip "${aliases[at]?.ip}"`),
    ...[...repeatedNames].map((at) => {
      return `${secretPath(at)}: duplicate name "${secrets[at]?.name ?? ""}"`;
    }),
    ...secrets.flatMap(({ name = "" }, index) =>
      name === "" ? [`${secretPath(index)}: invalid empty name ""`] : [],
    ),
  ];
}

function containerWarnings(
  { metadata, spec }: Template,
  root: Path,
  { domain, isTemplate }: { readonly domain: Domain; readonly isTemplate: boolean },
): readonly string[] {
  const keys = annotationKeys(domain);
  const warnings: string[] = [];
  eachContainer(spec, root.child("spec"), (container, path) => {
    const { name, securityContext } = container;
    const annotation = (of: string) => entry(metadata.annotations, keys.appArmor + of);
    const tell = (key: string, message: string) => {
      if (entry(metadata.annotations, key) === undefined) return;
      warnings.push(`${root.child("metadata", "annotations").key(key)}: ${message}`);
    };
    if (!securityContext?.seccompProfile)
      tell(keys.seccompContainer + name, seccompAnnotationWarning);
    if (isTemplate && !securityContext?.appArmorProfile && !isPodProfile(spec, annotation(name))) {
      tell(keys.appArmor + name, appArmorAnnotationWarning);
    }
    append(warnings, fractions(container, path));
    append(warnings, hiddenVariables(container, path));
  });
  return warnings;
}

/** Resources measured in integer bytes. */
const byteResources = ["memory", "ephemeral-storage"] as const;

function fractions({ resources }: Container, path: Path): readonly string[] {
  if (resources.limits === undefined && resources.requests === undefined) return none;
  const resourcesPath = path.child("resources");
  return byteResources.flatMap((name) => [
    ...fractionsOf(resources.limits, [name], resourcesPath.child("limits")),
    ...fractionsOf(resources.requests, [name], resourcesPath.child("requests")),
  ]);
}

function fractionsOf(
  amounts: Readonly<Record<string, string>> | undefined,
  names: readonly string[],
  path: Path,
): readonly string[] {
  if (amounts === undefined) return none;
  return names.flatMap((name) => {
    const amount = entry(amounts, name);
    if (amount === undefined || !isFractional(amount)) return none;
    return [`${path.key(name)}: fractional byte value "${amount}" is invalid, must be an integer`];
  });
}

/** Warnings about environment variables that are set again without use of the earlier value. */
function hiddenVariables({ env = [] }: Container, path: Path): readonly string[] {
  if (env.length < 2) return none;
  const seen = new Set<string>();
  const all = path.child("env").toString();
  return env.flatMap(({ name, value = "", valueFrom }, index) => {
    const isHidden = seen.has(name) && (valueFrom !== undefined || !value.includes(`$(${name})`));
    seen.add(name);
    if (!isHidden) return none;
    const message = `hides previous definition of "${name}", which may be dropped when using apply`;
    return [`${all}[${index}]: ${message}`];
  });
}

interface HasName {
  readonly metadata: { readonly name?: string };
}

/** Warnings about the name of a new object from which pod names are derived. */
export function nameWarnings({ metadata }: HasName): readonly string[] {
  const messages = isDns1123Label(metadata.name ?? "");
  if (messages.length === 0) return [];
  const message =
    "this is used in Pod names and hostnames, which can result in surprising behavior; " +
    "a DNS label is recommended";
  return [`metadata.name: ${message}: [${messages.join(" ")}]`];
}

/** Whether an update leaves the spec unchanged, in which case there are no warnings. */
export function keepsGeneration(object: HasGeneration, old: HasGeneration | undefined): boolean {
  return old !== undefined && object.metadata.generation === old.metadata.generation;
}

export interface HasGeneration {
  readonly metadata: { readonly generation?: number | bigint };
}

/** Warnings about the name of a new pod, which is also its hostname. */
export function podNameWarnings({ metadata }: Template): readonly string[] {
  const messages = isDns1123Label(metadata.name ?? "");
  if (messages.length === 0) return [];
  const message =
    "this is used in the Pod's hostname, which can result in surprising behavior; " +
    "a DNS label is recommended";
  return [`metadata.name: ${message}: [${messages.join(" ")}]`];
}

/** Warnings about addresses that the kubelet reports in the status. */
export function podStatusWarnings({ podIPs, hostIPs }: PodAddresses): readonly string[] {
  const status = Path.of("status");
  const warningsOf = (field: string, all: PodAddresses["podIPs"]) =>
    (all ?? []).flatMap(({ ip = "" }, index) => {
      const warning = addressWarning(ip);
      const ipPath = status.child(field).index(index).child("ip");
      return warning === undefined ? [] : [`${ipPath}: ${warning}`];
    });
  return [...warningsOf("podIPs", podIPs), ...warningsOf("hostIPs", hostIPs)];
}

interface PodAddresses {
  readonly podIPs?: readonly { readonly ip?: string }[];
  readonly hostIPs?: readonly { readonly ip?: string }[];
}

function graceWarnings({ terminationGracePeriodSeconds: grace }: PodSpec, path: Path) {
  if (grace === undefined || grace >= 0) return [];
  const effect = "negative values are invalid and will be treated as 1";
  return [`${path.child("terminationGracePeriodSeconds")}: must be >= 0; ${effect}`];
}

function affinityWarnings({ affinity }: PodSpec, path: Path): readonly string[] {
  return (["podAffinity", "podAntiAffinity"] as const).flatMap((field) => {
    const fieldPath = path.child("affinity", field);
    const required = (affinity?.[field]?.[requiredTerms] ?? []).flatMap((term, index) =>
      term.labelSelector === undefined
        ? [noSelector(fieldPath.child(requiredTerms).index(index))]
        : [],
    );
    const preferred = (affinity?.[field]?.[preferredTerms] ?? []).flatMap((each, index) => {
      if (each.podAffinityTerm.labelSelector !== undefined) return [];
      return [noSelector(fieldPath.child(preferredTerms).index(index).child("podAffinityTerm"))];
    });
    return [...required, ...preferred];
  });
}

function addressWarnings({ dnsConfig, hostAliases }: PodSpec, path: Path): readonly string[] {
  const servers = path.child("dnsConfig", "nameservers");
  const places = [
    ...(dnsConfig?.nameservers ?? []).map((ip, index) => [ip, servers.index(index)] as const),
    ...(hostAliases ?? []).map(
      ({ ip }, index) => [ip, path.child("hostAliases").index(index).child("ip")] as const,
    ),
  ];
  return places.flatMap(([ip, place]) => {
    const warning = addressWarning(ip);
    return warning === undefined ? [] : [`${place}: ${warning}`];
  });
}

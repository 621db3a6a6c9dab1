import { dropGated, type Infer, Path, Problems, semanticEquality } from "#schema";
import { type HookContext, isDns1123Label, kind } from "#meta";
import { roundAmounts } from "../core/shared/resource-amounts.ts";
import { defaultClaimSpec, defaultPodTemplate } from "../core/pod/spec/pod-defaults.ts";
import { dropGatedPodFields } from "../core/pod/spec/pod-gates.ts";
import type { PodTemplateSpec } from "../core/pod/spec/pod-spec.ts";
import {
  checkClaimSpec,
  claimWarnings,
} from "../core/persistent-volume/persistent-volume-claim-rules.ts";
import { containerCells } from "../core/pod-template.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { splitByStatusSubresource, invalidEach, unsupported } from "../strategy.ts";
import { statefulSetV1 } from "./stateful-set-structs.ts";
import {
  checkCollisions,
  checkLongRunningTemplate,
  checkMatch,
  checkNotAbove,
  checkNotNegative,
  checkSelector,
  containersColumn,
  imagesColumn,
  scaleSubresource,
  statusSubresource,
  templateWarnings,
} from "./workload.ts";

type StatefulSet = Infer<typeof statefulSetV1>;
type Spec = StatefulSet["spec"];

function fillDefaults({ spec }: StatefulSet, { gate }: HookContext): void {
  defaultPodTemplate(spec.template, gate);
  const { updateStrategy: how } = spec;
  if (!how.type) {
    how.type = "RollingUpdate";
    how.rollingUpdate ??= {};
  }
  if (how.type === "RollingUpdate" && how.rollingUpdate !== undefined) {
    how.rollingUpdate.partition ??= 0;
  }
  spec.persistentVolumeClaimRetentionPolicy ??= {};
  spec.persistentVolumeClaimRetentionPolicy.whenDeleted ||= "Retain";
  spec.persistentVolumeClaimRetentionPolicy.whenScaled ||= "Retain";
  for (const claim of spec.volumeClaimTemplates ?? []) {
    claim.apiVersion = "v1";
    claim.kind = "PersistentVolumeClaim";
    defaultClaimSpec(claim.spec);
    claim.status.phase ||= "Pending";
    roundAmounts(claim.status.capacity);
    roundAmounts(claim.status.allocatedResources);
  }
}

const path = Path.of("spec");

interface SpecChecks {
  readonly context: HookContext;
  /** Whether to validate immutable fields, too: stored objects may violate newer rules. */
  readonly isNew: boolean;
  readonly checksPods: boolean;
}

function checkSpec(
  spec: Spec,
  problems: Problems,
  { context, isNew, checksPods }: SpecChecks,
): void {
  checkPolicies(spec, problems);
  if (isNew) checkClaimTemplates(spec, problems);
  const { replicas, minReadySeconds, ordinals, serviceName, selector } = spec;
  checkNotNegative({ replicas, minReadySeconds }, path, problems);
  checkNotNegative({ start: ordinals?.start }, path.child("ordinals"), problems);
  if (isNew && serviceName !== "") {
    const messages = isDns1123Label(serviceName);
    invalidEach(problems, path.child("serviceName"), { value: serviceName, messages });
  }
  const isUsable = checkSelector(selector, {
    path: path.child("selector"),
    problems,
    kind: "statefulset",
    invalidMessage: "",
  });
  if (!isUsable) return;
  const templatePath = path.child("template");
  checkMatch(selector, spec.template, { path: templatePath, problems });
  checkLongRunningTemplate(podTemplateOf(spec), templatePath, {
    kind: "StatefulSet",
    problems,
    context,
    checksPods,
    checksMetadataAgain: true,
  });
}

function checkClaimTemplates({ volumeClaimTemplates }: Spec, problems: Problems): void {
  for (const [index, claim] of (volumeClaimTemplates ?? []).entries()) {
    const itemPath = path.child("volumeClaimTemplates").index(index);
    checkClaimSpec(claim.spec, itemPath.child("spec"), problems);
  }
}

/** Skips validation of an unchanged pod template that the stored object already violates. */
function validateChange(
  { spec }: StatefulSet,
  old: StatefulSet,
  problems: Problems,
  context: HookContext,
): void {
  const before = new Problems();
  const checks = { context, isNew: false, checksPods: true };
  checkSpec(old.spec, before, checks);
  checkSpec(spec, problems, { ...checks, checksPods: before.empty });
}

/**
 * The template as the controller will instantiate it: volumes of claim templates replace volumes of
 * the same name; hostname and subdomain are omitted, as the controller sets them.
 */
function podTemplateOf({ template, volumeClaimTemplates: claims = [] }: Spec): PodTemplateSpec {
  const { hostname: _hostname, subdomain: _subdomain, ...rest } = template.spec;
  if (claims.length === 0) return { ...template, spec: rest };
  const names = new Set(claims.map(({ metadata }) => metadata.name ?? ""));
  const templateVolumes = (template.spec.volumes ?? []).filter(({ name }) => !names.has(name));
  const ofClaims = [...names].map((name) => ({
    name,
    persistentVolumeClaim: { claimName: name, readOnly: false },
  }));
  return { ...template, spec: { ...rest, volumes: [...ofClaims, ...templateVolumes] } };
}

function checkPolicies(spec: Spec, problems: Problems): void {
  const management = spec.podManagementPolicy ?? "";
  if (management !== "OrderedReady" && management !== "Parallel") {
    const podManagementPolicyPath = path.child("podManagementPolicy");
    problems.invalid(podManagementPolicyPath, management, "must be 'OrderedReady' or 'Parallel'");
  }
  checkStrategy(spec, problems);
  const retention = spec.persistentVolumeClaimRetentionPolicy ?? {};
  const supported = ["Retain", "Delete"];
  for (const field of ["whenDeleted", "whenScaled"] as const) {
    const value = retention[field] ?? "";
    if (supported.includes(value)) continue;
    const fieldPath = path.child("persistentVolumeClaimRetentionPolicy", field);
    unsupported(problems, fieldPath, { value, supported });
  }
}

function checkStrategy({ updateStrategy: how }: Spec, problems: Problems): void {
  const updateStrategyPath = path.child("updateStrategy");
  const rolling = updateStrategyPath.child("rollingUpdate");
  const { partition, maxUnavailable } = how.rollingUpdate ?? {};
  // Reported with the field names of Go's struct, as in Kubernetes.
  const update = { Partition: partition ?? 0, MaxUnavailable: maxUnavailable ?? null };
  const reported = how.rollingUpdate === undefined ? null : update;
  if (how.type === "OnDelete") {
    if (reported === null) return;
    problems.invalid(rolling, reported, "only allowed for updateStrategy 'RollingUpdate'");
  } else if (how.type === "RollingUpdate") checkNotNegative({ partition }, rolling, problems);
  else {
    const value = { Type: how.type ?? "", RollingUpdate: reported };
    problems.invalid(updateStrategyPath, value, "must be 'RollingUpdate' or 'OnDelete'");
  }
}

const changeable = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
] as const;

const sameStatefulSet = semanticEquality(statefulSetV1);

function checkUnchanged(now: StatefulSet, before: StatefulSet, problems: Problems): void {
  const oldValues = Object.fromEntries(changeable.map((field) => [field, before.spec[field]]));
  if (sameStatefulSet({ ...before, spec: { ...now.spec, ...oldValues } }, before)) return;
  const names = changeable.map((name) => `'${name}'`);
  const all = `${names.slice(0, -1).join(", ")} and ${names.at(-1) ?? ""}`;
  const detail = `updates to statefulset spec for fields other than ${all} are forbidden`;
  problems.forbidden(path, detail);
}

function checkStatus({ status: now }: StatefulSet, before: StatefulSet, problems: Problems): void {
  const statusPath = Path.of("status");
  const { replicas, readyReplicas = 0, currentReplicas = 0, updatedReplicas = 0 } = now;
  const { availableReplicas, observedGeneration, collisionCount } = now;
  const counts = { readyReplicas, currentReplicas, updatedReplicas, availableReplicas };
  checkNotNegative(
    { replicas, ...counts, observedGeneration, collisionCount },
    statusPath,
    problems,
  );
  const limit = { name: "status.replicas", value: replicas };
  checkNotAbove(counts, { path: statusPath, problems, limit });
  const ready = { name: "status.readyReplicas", value: readyReplicas };
  checkNotAbove({ availableReplicas }, { path: statusPath, problems, limit: ready });
  checkCollisions(collisionCount, before.status.collisionCount, { path: statusPath, problems });
}

function warnings(
  object: StatefulSet,
  old: StatefulSet | undefined,
  context: HookContext,
): readonly string[] {
  if (context.subresource !== "") return [];
  const { template, volumeClaimTemplates = [], revisionHistoryLimit } = object.spec;
  const claims = volumeClaimTemplates.flatMap(({ spec }, index) => {
    const itemPath = path.child("volumeClaimTemplates").index(index);
    // The path differs between create and update, as in Kubernetes.
    return claimWarnings(spec, old === undefined ? itemPath : itemPath.child("Spec"));
  });
  const history =
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; " +
    "a value >= 0 is recommended";
  return [
    ...templateWarnings(template, path.child("template"), { object, old, context }),
    ...claims,
    ...((revisionHistoryLimit ?? 0) < 0 ? [history] : []),
  ];
}

const divided = splitByStatusSubresource(() => ({ replicas: 0, availableReplicas: 0 }));

export const statefulSet = kind(statefulSetV1, {
  group: "apps",
  kind: "StatefulSet",
  plural: "statefulsets",
  shortNames: ["sts"],
  categories: ["all"],
  scope: "Namespaced",
  versions: [{ version: "v1", struct: statefulSetV1, onByDefault: true, convert: "hub" }],
  subresources: [scaleSubresource, statusSubresource],
  rules: { name: "dns-label", generation: true },
  hooks: {
    default: fillDefaults,
    prepareCreate: (object, context) => {
      divided.prepareCreate(object, context);
      dropGated(statefulSetV1, object, { isOn: context.gate });
      dropGatedPodFields(object.spec.template.spec, undefined, context.gate);
    },
    prepareUpdate: (object, old, context) => {
      divided.prepareUpdate(object, old, context);
      dropGated(statefulSetV1, object, { old, isOn: context.gate });
      dropGatedPodFields(object.spec.template.spec, old.spec.template.spec, context.gate);
    },
    validate: ({ spec }, problems, context) =>
      checkSpec(spec, problems, { context, isNew: true, checksPods: true }),
    validateUpdate: (object, old, problems, context) => {
      if (context.subresource === "status") return checkStatus(object, old, problems);
      validateChange(object, old, problems, context);
      checkUnchanged(object, old, problems);
    },
    warnings,
  },
  columns: [
    nameColumn,
    column("Ready", "Ready pods out of the desired ones."),
    ageColumn,
    containersColumn,
    imagesColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    `${object.status.readyReplicas ?? 0}/${object.spec.replicas ?? 0}`,
    ageOf(object, context),
    ...containerCells(object.spec.template),
  ],
});

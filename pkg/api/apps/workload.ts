/**
 * Validation shared by workload kinds (Deployment, ReplicaSet, StatefulSet, DaemonSet and others).
 */
import type { Path, Problems } from "#schema";
import {
  type HookContext,
  isLabelValue,
  isPercent,
  isQualifiedName,
  selectorFromLabelSelector,
  type Subresource,
} from "#meta";
import type { PodTemplateSpec } from "../core/pod/spec/pod-spec.ts";
import { validatePodTemplate, validateTemplateMetadata } from "../core/pod/spec/pod-spec-rules.ts";
import { type HasGeneration, keepsGeneration, podWarnings } from "../core/pod/pod-warnings.ts";
import { goLabels, goSelector } from "../go/go-shape.ts";
import { checkLabelSelector, formatLabelSelector, type LabelSelector } from "../label-selector.ts";
import { scaleV1 } from "../autoscaling/scale.ts";
import { column } from "../printing.ts";
import { unsupported } from "../strategy.ts";

export function checkNotNegative(
  counts: Readonly<Record<string, number | bigint | undefined>>,
  path: Path,
  problems: Problems,
): void {
  for (const [field, count] of Object.entries(counts)) {
    if (count === undefined || count >= 0) continue;
    problems.invalid(path.child(field), count, "must be greater than or equal to 0");
  }
}

/** Reports each count that exceeds `status.replicas`. */
export function checkNotAbove(
  counts: Readonly<Record<string, number>>,
  {
    path,
    problems,
    limit,
  }: {
    readonly path: Path;
    readonly problems: Problems;
    readonly limit: { readonly name: string; readonly value: number };
  },
): void {
  for (const [field, count] of Object.entries(counts)) {
    if (count <= limit.value) continue;
    problems.invalid(path.child(field), count, `cannot be greater than ${limit.name}`);
  }
}

export function checkCollisions(
  now: number | undefined,
  before: number | undefined,
  { path, problems }: { readonly path: Path; readonly problems: Problems },
): void {
  if (before === undefined || (now !== undefined && now >= before)) return;
  problems.invalid(path.child("collisionCount"), now ?? 0, "cannot be decremented");
}

type IntOrString = number | string;

/** Requires a non-negative integer or a percentage. */
export function checkIntOrPercent(
  share: IntOrString | undefined,
  path: Path,
  problems: Problems,
): void {
  if (share === undefined) return;
  if (typeof share === "number") {
    if (share < 0) problems.invalid(path, share, "must be greater than or equal to 0");
    return;
  }
  for (const message of isPercent(share)) problems.invalid(path, share, message);
}

export function checkAtMostAll(
  share: IntOrString | undefined,
  path: Path,
  problems: Problems,
): void {
  if (typeof share !== "string" || isPercent(share).length > 0) return;
  if (Number.parseInt(share, 10) > 100) {
    problems.invalid(path, share, "must not be greater than 100%");
  }
}

/** The integer or percentage as a number; other strings count as their leading integer, or 0. */
export function intOrPercentValue(share: IntOrString | undefined): number {
  if (typeof share !== "string") return share ?? 0;
  if (isPercent(share).length === 0) return Number.parseInt(share, 10);
  return /^[-+]?\d+$/.test(share) ? Number.parseInt(share, 10) : 0;
}

/** Whether Kubernetes can convert the selector for matching at all. */
export function isConvertibleSelector({
  matchLabels = {},
  matchExpressions = [],
}: LabelSelector): boolean {
  const labels = Object.entries(matchLabels);
  return (
    labels.every(([key, value]) => isValidKey(key) && isLabelValue(value).length === 0) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const areGood = values.every((value) => isLabelValue(value).length === 0);
      if (operator === "In" || operator === "NotIn") {
        return isValidKey(key) && areGood && values.length > 0;
      }
      const isKnown = operator === "Exists" || operator === "DoesNotExist";
      return isKnown && isValidKey(key) && values.length === 0;
    })
  );
}

const isValidKey = (key: string): boolean => isQualifiedName(key).length === 0;

interface SelectorRules {
  readonly path: Path;
  readonly problems: Problems;
  /** Kind, for the message about an empty selector. */
  readonly kind: string;
  /** Error message of an invalid selector; absent = none. */
  readonly invalidMessage?: string;
}

/** Validates a selector; returns true if it can be matched against labels. */
export function checkSelector(
  selector: LabelSelector | null | undefined,
  { path, problems, kind, invalidMessage: unusable }: SelectorRules,
): boolean {
  if (selector === null || selector === undefined) {
    problems.required(path);
    return true;
  }
  checkLabelSelector(selector, path, problems);
  const { matchLabels = {}, matchExpressions = [] } = selector;
  if (Object.keys(matchLabels).length + matchExpressions.length === 0) {
    problems.invalid(path, goSelector(selector), `empty selector is invalid for ${kind}`);
  }
  if (isConvertibleSelector(selector)) return true;
  if (unusable !== undefined) problems.invalid(path, goSelector(selector), unusable);
  return false;
}

/** Requires the selector to match the labels of the pod template. */
export function checkMatch(
  selector: LabelSelector | null | undefined,
  template: PodTemplateSpec,
  { path, problems }: { readonly path: Path; readonly problems: Problems },
): void {
  if (selector && !isConvertibleSelector(selector)) return;
  const { labels } = template.metadata;
  if (selectorFromLabelSelector(selector).matches(labels ?? {})) return;
  const detail = "`selector` does not match template `labels`";
  problems.invalid(path.child("metadata", "labels"), goLabels(labels), detail);
}

/** Template rules of long-running workloads: restartPolicy Always and no activeDeadlineSeconds. */
export function checkLongRunningTemplate(
  template: PodTemplateSpec,
  path: Path,
  {
    kind,
    problems,
    context,
    checksPods = true,
    checksMetadataAgain = false,
  }: {
    readonly kind: string;
    readonly problems: Problems;
    readonly context: HookContext;
    /** Whether to validate the pod spec and metadata, too. */
    readonly checksPods?: boolean;
    /** Validates the metadata twice, as StatefulSets do: each cause is then reported twice. */
    readonly checksMetadataAgain?: boolean;
  },
): void {
  if (checksPods) validatePodTemplate(template, path, problems, context);
  if (checksMetadataAgain) validateTemplateMetadata(template, path, problems, context);
  const { restartPolicy: value = "", activeDeadlineSeconds } = template.spec;
  if (value !== "Always") {
    const supported = ["Always"];
    unsupported(problems, path.child("spec", "restartPolicy"), { value, supported });
  }
  if (activeDeadlineSeconds === undefined) return;
  const detail = `activeDeadlineSeconds in ${kind} is not Supported`;
  problems.forbidden(path.child("spec", "activeDeadlineSeconds"), detail);
}

/** Warnings about a pod template; none about the same template of an unchanged object. */
export function templateWarnings(
  template: PodTemplateSpec,
  path: Path,
  {
    object,
    old,
    context,
  }: {
    readonly object: HasGeneration;
    readonly old: HasGeneration | undefined;
    readonly context: HookContext;
  },
): readonly string[] {
  if (context.subresource !== "" || keepsGeneration(object, old)) return [];
  return podWarnings(template, path, context);
}

export const statusSubresource: Subresource = {
  name: "status",
  verbs: ["get", "patch", "update"],
};

interface Scaled {
  readonly spec: { replicas?: number; readonly selector: LabelSelector | null };
  readonly status: { readonly replicas?: number };
}

export const scaleSubresource: Subresource = {
  name: "scale",
  verbs: ["get", "patch", "update"],
  represents: { group: "autoscaling", version: "v1", kind: "Scale", struct: scaleV1 },
  scale: {
    get: ({ spec, status }: Scaled) => ({
      replicas: spec.replicas ?? 0,
      observed: status.replicas ?? 0,
      selector: spec.selector === null ? "" : formatLabelSelector(spec.selector),
    }),
    set: ({ spec }: Scaled, replicas) => {
      spec.replicas = replicas;
    },
  },
};

export const containersColumn = column("Containers", "Names of the containers.", { priority: 1 });
export const imagesColumn = column("Images", "Images of the containers.", { priority: 1 });
export const selectorColumn = column("Selector", "Label selector of the pods.", { priority: 1 });

export function selectorCell(selector: LabelSelector | null | undefined): string {
  return selector === null || selector === undefined ? "<none>" : formatLabelSelector(selector);
}

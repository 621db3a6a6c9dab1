/** Validation of pod updates. */
import { deepClone, deepEqual } from "#base";
import { goDiff } from "../../go/go-diff.ts";
import { goLabels, goShape, goValue } from "../../go/go-shape.ts";
import { list, Path, type Problems, semanticEquality } from "#schema";
import { entry, firstByName, memberOf, sortedKeys } from "../../strategy.ts";
import { checkImageSpace } from "./container/container-rules.ts";
import { ephemeralContainer } from "./container/containers.ts";
import { podSpec, type PodSpec } from "./spec/pod-spec.ts";
import { nodeAffinity, nodeSelectorTerm } from "./spec/scheduling.ts";
import { checkToleration } from "./spec/toleration.ts";

const specPath = Path.of("spec");
const maxInt32 = 2 ** 31 - 1;

const changeable = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
].join(",");

const sameSpec = semanticEquality(podSpec);
const sameTerm = semanticEquality(nodeSelectorTerm);
const sameAffinity = semanticEquality(nodeAffinity);

/** Validates spec changes through the main resource. */
export function checkSpecChange(spec: PodSpec, old: PodSpec, problems: Problems): void {
  for (const field of ["containers", "initContainers"] as const) {
    if (!checkImages(spec, old, { field, problems })) return;
  }
  if (!checkDeadline(spec, old, problems)) return;
  checkTolerations(spec, old, problems);
  checkGates(spec, old, problems);
  if (sameSpec(spec, old)) return;
  const merged = withMutableFields(spec, old);
  if ((old.schedulingGates ?? []).length > 0) checkGatedChange(merged, old, problems);
  if (sameSpec(merged, old)) return;
  const detail = `pod updates may not change fields other than ${changeable}`;
  problems.forbidden(specPath, `${detail}\n${goDiff(podSpec, old, merged)}`);
}

interface Images {
  readonly field: "containers" | "initContainers";
  readonly problems: Problems;
}

/** Validates changed images; returns false if the lists differ in length. */
function checkImages(spec: PodSpec, old: PodSpec, { field, problems }: Images): boolean {
  const path = specPath.child(field);
  const containers = spec[field] ?? [];
  if (containers.length !== (old[field] ?? []).length) {
    problems.forbidden(path, "pod updates may not add or remove containers");
    return false;
  }
  for (const [index, container] of containers.entries()) {
    if (!container.image) problems.required(path.index(index).child("image"));
    checkImageSpace(container, path.index(index), problems);
  }
  return true;
}

/**
 * Validates activeDeadlineSeconds, which may be set or reduced. Returns false if further checks are
 * pointless.
 */
function checkDeadline(spec: PodSpec, old: PodSpec, problems: Problems): boolean {
  const path = specPath.child("activeDeadlineSeconds");
  const [now, before] = [spec.activeDeadlineSeconds, old.activeDeadlineSeconds];
  if (now === undefined) {
    if (before === undefined) return true;
    problems.invalid(path, null, "must not update from a positive integer to nil value");
    return true;
  }
  if (now < 0 || now > maxInt32) {
    problems.invalid(path, now, `must be between 0 and ${maxInt32}, inclusive`);
    return false;
  }
  if (before === undefined || before >= now) return true;
  problems.invalid(path, now, "must be less than or equal to previous value");
  return false;
}

function timeless(toleration: { readonly tolerationSeconds?: unknown }): unknown {
  const { tolerationSeconds: _seconds, ...rest } = toleration;
  return rest;
}

function checkTolerations(spec: PodSpec, old: PodSpec, problems: Problems): void {
  const path = specPath.child("tolerations");
  const tolerations = spec.tolerations ?? [];
  const isKept = memberOf(tolerations.map(timeless));
  if (!(old.tolerations ?? []).map(timeless).every(isKept)) {
    const detail = "existing toleration can not be modified except its tolerationSeconds";
    return problems.forbidden(path, detail);
  }
  for (const [index, toleration] of tolerations.entries()) {
    checkToleration(toleration, path.index(index), problems);
  }
}

function checkGates(spec: PodSpec, old: PodSpec, problems: Problems): void {
  const before = new Set((old.schedulingGates ?? []).map(({ name }) => name));
  for (const [index, { name }] of (spec.schedulingGates ?? []).entries()) {
    if (before.has(name)) continue;
    const detail = `only deletion is allowed, but found new scheduling gate '${name}'`;
    problems.forbidden(specPath.child("schedulingGates").index(index).child("name"), detail);
  }
}

/** `spec` with the old values of mutable fields, which are validated separately. */
function withMutableFields(spec: PodSpec, old: PodSpec): PodSpec {
  const merged = deepClone(spec);
  for (const field of ["containers", "initContainers"] as const) {
    for (const [index, container] of (merged[field] ?? []).entries()) {
      const image = old[field]?.[index]?.image;
      if (image === undefined) delete container.image;
      else container.image = image;
    }
  }
  const grace = old.terminationGracePeriodSeconds ?? 0;
  if (grace < 0 && merged.terminationGracePeriodSeconds === 1) {
    merged.terminationGracePeriodSeconds = grace;
  }
  return keep(merged, old, ["activeDeadlineSeconds", "schedulingGates", "tolerations"]);
}

function keep(spec: PodSpec, old: PodSpec, fields: readonly (keyof PodSpec)[]): PodSpec {
  const rest = Object.entries(spec).filter(([field]) => !fields.includes(field as keyof PodSpec));
  const oldValues = fields.flatMap((field) =>
    old[field] === undefined ? [] : [[field, old[field]]],
  );
  return Object.fromEntries([...rest, ...oldValues]) as PodSpec;
}

/** Allows a gated pod to narrow its node selection. Modifies `spec`. */
function checkGatedChange(spec: PodSpec, old: PodSpec, problems: Problems): void {
  if (!deepEqual(spec.nodeSelector ?? {}, old.nodeSelector ?? {})) {
    const path = specPath.child("nodeSelector");
    const isKept = (key: string) => entry(spec.nodeSelector, key) === entry(old.nodeSelector, key);
    if (!sortedKeys(old.nodeSelector).every(isKept)) {
      const detail = `only additions to ${path} are allowed (no mutations or deletions)`;
      problems.invalid(path, goLabels(spec.nodeSelector), detail);
    }
    if (old.nodeSelector === undefined) delete spec.nodeSelector;
    else spec.nodeSelector = old.nodeSelector;
  }
  const before = old.affinity?.nodeAffinity;
  if (sameAffinity(spec.affinity?.nodeAffinity, before)) return;
  checkNodeAffinity(spec, old, problems);
  if (before !== undefined) spec.affinity = { ...spec.affinity, nodeAffinity: before };
  else if (spec.affinity !== undefined) {
    const { nodeAffinity: _, ...rest } = spec.affinity;
    if (Object.keys(rest).length === 0 && old.affinity === undefined) delete spec.affinity;
    else spec.affinity = rest;
  }
}

type Affinity = NonNullable<PodSpec["affinity"]>["nodeAffinity"];
const requiredTerms = "requiredDuringSchedulingIgnoredDuringExecution";

function termsOf(affinity: Affinity) {
  return affinity?.[requiredTerms]?.nodeSelectorTerms ?? [];
}

/** Allows expressions to be added to each term. */
function checkNodeAffinity(spec: PodSpec, old: PodSpec, problems: Problems): void {
  const [now, before] = [termsOf(spec.affinity?.nodeAffinity), termsOf(old.affinity?.nodeAffinity)];
  if (before.length === 0) return;
  const path = specPath.child("affinity", "nodeAffinity", requiredTerms, "nodeSelectorTerms");
  if (now.length !== before.length) {
    const detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
    return problems.invalid(
      path,
      goValue(
        list(nodeSelectorTerm),
        spec.affinity?.nodeAffinity?.[requiredTerms]?.nodeSelectorTerms,
      ),
      detail,
    );
  }
  for (const [index, term] of before.entries()) {
    const other = now[index] ?? {};
    const isEmpty = (each: typeof term) =>
      !each.matchExpressions?.length && !each.matchFields?.length;
    const lists = ["matchExpressions", "matchFields"] as const;
    const begin = Object.fromEntries(
      lists.map((name) => [name, other[name]?.slice(0, term[name]?.length ?? 0)]),
    );
    const grows = sameTerm(begin, term);
    if (isEmpty(term) ? isEmpty(other) : grows) continue;
    const detail = "only additions are allowed (no mutations or deletions)";
    problems.invalid(path.index(index), goShape(nodeSelectorTerm, other), detail);
  }
}

/** Allows ephemeral containers to be added, but neither changed nor removed. */
export function checkEphemeralChange(spec: PodSpec, old: PodSpec, problems: Problems): void {
  const path = specPath.child("ephemeralContainers");
  const byName = firstByName(spec.ephemeralContainers);
  for (const container of old.ephemeralContainers ?? []) {
    const name = JSON.stringify(container.name);
    const now = byName.get(container.name);
    if (now === undefined) {
      problems.forbidden(path, `existing ephemeral containers ${name} may not be removed\n`);
    } else if (!semanticEquality(ephemeralContainer)(now, container)) {
      const diff = goDiff(ephemeralContainer, container, now);
      problems.forbidden(path, `existing ephemeral containers ${name} may not be changed\n${diff}`);
    }
  }
}

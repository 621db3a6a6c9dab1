import { assign, deepClone, deepEqual } from "#base";
import { fieldEquality, fieldNamed, Path, type Problems } from "#schema";
import { type HookContext, isDns1123Label, kind, resolve, labelSelector } from "#meta";
import {
  checkMatch,
  containersColumn,
  imagesColumn,
  isConvertibleSelector,
  selectorCell,
  selectorColumn,
  statusSubresource,
} from "../apps/workload.ts";
import { defaultPodTemplate } from "../core/pod/spec/pod-defaults.ts";
import { dropGatedPodFields } from "../core/pod/spec/pod-gates.ts";
import type { PodTemplateSpec } from "../core/pod/spec/pod-spec.ts";
import { nameWarnings } from "../core/pod/pod-warnings.ts";
import { containerCells } from "../core/pod-template.ts";
import { checkLabelSelector } from "../label-selector.ts";
import { ageColumn, ageOf, column, humanDuration, nameColumn, nameOf } from "../printing.ts";
import { goValue, goLabels, goSelector } from "../go/go-shape.ts";
import {
  splitByStatusSubresource,
  entry,
  fieldImmutableMessage,
  mustNotChange,
} from "../strategy.ts";
import { checkJobSpec } from "./job-rules.ts";
import { checkJobStatus, hasCondition } from "./job-status-rules.ts";
import { jobSpecWarnings } from "./job-warnings.ts";
import { type Job, type JobSpec, jobSpec, jobV1 } from "./job-structs.ts";

const defaultBackoffLimit = 6;
const maxInt32 = 2 ** 31 - 1;

function fillDefaults({ metadata, spec }: Job, { gate }: HookContext): void {
  if (spec.completions === undefined && spec.parallelism === undefined) {
    spec.completions = 1;
    spec.parallelism = 1;
  }
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? defaultBackoffLimit : maxInt32;
  defaultLabels({ metadata, spec });
  spec.completionMode ??= "NonIndexed";
  spec.suspend ??= false;
  const isTold = spec.podFailurePolicy !== undefined;
  spec.podReplacementPolicy ??= isTold ? "Failed" : "TerminatingOrFailed";
  spec.manualSelector ??= false;
  defaultPodTemplate(spec.template, gate);
}

/** Labels of a Job's pods: template of the key -> content of the value. */
const generatedLabels = [
  ["controller-uid", "uid"],
  ["job-name", "name"],
  ["batch.{label}/controller-uid", "uid"],
  ["batch.{label}/job-name", "name"],
] as const;

const controllerUidLabel = "batch.{label}/controller-uid";

/** Generates a selector for the label with the Job's unique UID. */
function generateSelector(job: Job, { domain }: HookContext): void {
  const { metadata, spec } = job;
  const { template } = spec;
  const isShared =
    metadata.labels !== undefined &&
    (metadata.labels === template.metadata.labels ||
      (metadata.generateName && deepEqual(metadata.labels, template.metadata.labels)));
  template.metadata.labels ??= {};
  const labels = template.metadata.labels;
  for (const [key, source] of generatedLabels) {
    const name = resolve(key, domain);
    if (entry(labels, name) === undefined) assign(labels, name, metadata[source] ?? "");
  }
  if (isShared) metadata.labels = { ...labels };
  spec.selector ??= {};
  spec.selector.matchLabels ??= {};
  const key = resolve(controllerUidLabel, domain);
  if (entry(spec.selector.matchLabels, key) === undefined) {
    assign(spec.selector.matchLabels, key, metadata.uid ?? "");
  }
}

const path = Path.of("spec");

function checkGenerated({ metadata, spec }: Job, problems: Problems, context: HookContext): void {
  if (spec.manualSelector || spec.selector === undefined) return;
  if (!metadata.uid) problems.required(Path.of("metadata.uid"));
  const labels = spec.template.metadata.labels ?? {};
  const expected: Record<string, string> = {};
  for (const [key, source] of generatedLabels) {
    const name = resolve(key, context.domain);
    const value = metadata[source] ?? "";
    assign(expected, name, value);
    const entryPath = path.child("template", "metadata", "labels").key(name);
    const actual = entry(labels, name);
    if (actual === undefined) problems.required(entryPath, `must be '${value}'`);
    else if (actual !== value) {
      problems.invalid(entryPath, goLabels(labels), `must be '${value}'`);
    }
  }
  if (!isConvertibleSelector(spec.selector)) return;
  const { matchLabels = {}, matchExpressions = [] } = spec.selector;
  const isOwn = Object.entries(matchLabels).every(([key, value]) => entry(expected, key) === value);
  if (isOwn && matchExpressions.length === 0) return;
  const selectorPath = path.child("selector");
  problems.invalid(selectorPath, goSelector(spec.selector), "`selector` not auto-generated");
}

function checkSpec(spec: JobSpec, problems: Problems, context: HookContext): void {
  checkJobSpec(spec, { path, problems }, context);
  if (spec.selector === undefined) problems.required(path.child("selector"));
  else checkLabelSelector(spec.selector, path.child("selector"), problems);
  checkMatch(spec.selector, spec.template, { path: path.child("template"), problems });
}

function validate(job: Job, problems: Problems, context: HookContext): void {
  checkGenerated(job, problems, context);
  checkSpec(job.spec, problems, context);
  const { completionMode, completions = 0 } = job.spec;
  if (completionMode !== "Indexed" || completions <= 0) return;
  const { name = "" } = job.metadata;
  const host = `${name}-${completions - 1}`;
  if (isDns1123Label(host).length === 0) return;
  const detail = `will not able to create pod with invalid DNS label: ${host}`;
  problems.invalid(Path.of("metadata.name"), name, detail);
}

/** Kubernetes validates the spec twice and reports each error twice. */
function validateUpdate(
  job: Job,
  old: Job,
  { problems, context }: { readonly problems: Problems; readonly context: HookContext },
): void {
  validate(job, problems, context);
  checkSpec(job.spec, problems, context);
  checkCompletions(job.spec, old.spec, problems);
  const keep = (field: keyof JobSpec, before: unknown = old.spec[field]) => {
    const now: unknown = job.spec[field];
    const declared = fieldNamed(jobSpec, field)!;
    if (fieldEquality(declared)(now, before)) return;
    const goField = now === undefined ? null : goValue(declared.type, now);
    problems.invalid(path.child(field), goField, fieldImmutableMessage);
  };
  const { selector } = job.spec;
  mustNotChange(problems, path.child("selector"), {
    now: selector,
    before: old.spec.selector,
    shown: goSelector(selector),
    type: labelSelector,
  });
  const mayMove = old.spec.suspend === true && !old.status.startTime;
  keep(
    "template",
    mayMove ? withSchedulingDirectives(old.spec.template, job.spec.template) : old.spec.template,
  );
  keep("completionMode");
  keep("podFailurePolicy");
  keep("backoffLimitPerIndex");
  keep("managedBy");
  keep("successPolicy");
}

function checkCompletions(now: JobSpec, before: JobSpec, problems: Problems): void {
  const { completions, parallelism } = now;
  const completionsPath = path.child("completions");
  if (now.completionMode !== "Indexed") {
    const values = { now: completions ?? null, before: before.completions ?? null };
    mustNotChange(problems, completionsPath, values);
  } else if (completions !== before.completions && completions !== parallelism) {
    const detail = "can only be modified in tandem with spec.parallelism";
    problems.invalid(completionsPath, completions ?? null, detail);
  }
}

/**
 * The old template with the scheduling directives of the new one, which may change while suspended.
 */
function withSchedulingDirectives(before: PodTemplateSpec, now: PodTemplateSpec): PodTemplateSpec {
  const { metadata, spec } = deepClone(before);
  const take = (into: object, from: object, field: string) => {
    const value = (from as Record<string, unknown>)[field];
    if (value === undefined) delete (into as Record<string, unknown>)[field];
    else (into as Record<string, unknown>)[field] = value;
  };
  for (const field of ["nodeSelector", "tolerations", "schedulingGates"]) {
    take(spec, now.spec, field);
  }
  for (const field of ["labels", "annotations"]) take(metadata, now.metadata, field);
  const affinity = { ...spec.affinity };
  take(affinity, now.spec.affinity ?? {}, "nodeAffinity");
  const isThere = Object.keys(affinity).length > 0 || now.spec.affinity !== undefined;
  if (isThere) spec.affinity = affinity;
  else delete spec.affinity;
  return { metadata, spec };
}

function stateOf(job: Job): string {
  for (const type of ["Complete", "Failed"]) if (hasCondition(job, type)) return type;
  if (job.metadata.deletionTimestamp) return "Terminating";
  const others = ["Suspended", "FailureTarget", "SuccessCriteriaMet"];
  return others.find((type) => hasCondition(job, type)) ?? "Running";
}

function completionsCell({ spec, status }: Job): string {
  const { succeeded = 0 } = status;
  const { completions, parallelism = 0 } = spec;
  if (completions !== undefined) return `${succeeded}/${completions}`;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationCell({ status }: Job, now: number): string {
  if (!status.startTime) return "";
  const end = status.completionTime ? Date.parse(status.completionTime) : now;
  return humanDuration(end - Date.parse(status.startTime));
}

/**
 * Defaults the labels to those of the template, as the same object, so that generated labels are
 * added to both.
 */
function defaultLabels({ metadata, spec }: Pick<Job, "metadata" | "spec">): void {
  const { labels } = spec.template.metadata;
  if (labels && Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = labels;
}

const divided = splitByStatusSubresource(() => ({}));

export const job = kind(jobV1, {
  group: "batch",
  kind: "Job",
  plural: "jobs",
  categories: ["all"],
  scope: "Namespaced",
  versions: [{ version: "v1", struct: jobV1, onByDefault: true, convert: "hub" }],
  subresources: [statusSubresource],
  rules: {
    metadataOnUpdate: { "": ["object", "change"] },
    generation: true,
    namedInFieldFaults: "kind",
    defaultPropagation: "orphan",
    deletionWarning:
      "child pods are preserved by default when jobs are deleted; " +
      "set propagationPolicy=Background to remove them " +
      "or set propagationPolicy=Orphan to suppress this warning",
  },
  hooks: {
    default: fillDefaults,
    prepareCreate: (object, context) => {
      divided.prepareCreate(object, context);
      if (!object.spec.manualSelector) generateSelector(object, context);
      dropGatedPodFields(object.spec.template.spec, undefined, context.gate);
    },
    prepareUpdate: (object, old, context) => {
      divided.prepareUpdate(object, old, context);
      dropGatedPodFields(object.spec.template.spec, old.spec.template.spec, context.gate);
    },
    prepareStored: defaultLabels,
    validate,
    validateUpdate: (object, old, problems, context) => {
      if (context.subresource === "status")
        checkJobStatus(object, old, problems, context.gate("JobManagedBy"));
      else validateUpdate(object, old, { problems, context });
    },
    warnings: (object, old, context) => [
      ...(old === undefined ? nameWarnings(object) : []),
      ...jobSpecWarnings(object.spec, path, { object, old, context }),
    ],
  },
  selectableFields: { "status.successful": ({ status }) => String(status.succeeded ?? 0) },
  columns: [
    nameColumn,
    column("Status", "State of the Job: Running, Complete, Failed, Suspended and others."),
    column("Completions", "Succeeded pods out of the required ones."),
    column("Duration", "Time from start to completion, or until now."),
    ageColumn,
    containersColumn,
    imagesColumn,
    selectorColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    stateOf(object),
    completionsCell(object),
    durationCell(object, context.now),
    ageOf(object, context),
    ...containerCells(object.spec.template),
    selectorCell(object.spec.selector),
  ],
});

/** Pods that a Job creates. */
import type { Draft } from "#client";
import { type Container, jobs, type Pod, type PodSpec } from "#kinds";
import { podFromTemplate } from "../../pods/pod-control.ts";
import { finishTimeOf } from "./policy/finish-time.ts";
import { firstMissing, union, withIndexes } from "./policy/index-intervals.ts";
import type { JobState } from "./job-evaluation.ts";
import {
  allIndexFailuresOf,
  indexesOf,
  indexFailuresOf,
  indexIgnoredFailuresOf,
  isPodTerminating,
} from "./job-pods.ts";
import { isIndexed, replacesOnlyTerminated } from "./job-spec.ts";
import { remainingDelay } from "./policy/pod-backoff.ts";
import { decideFailure } from "./policy/pod-failure-policy.ts";

const indexVariable = "JOB_COMPLETION_INDEX";
/** 63 less the five characters that the API server appends. */
const maxGenerateName = 58;

/** The lowest indexes without an active, succeeded or failed pod, at most `count`. */
export function missingIndexes(state: JobState, count: number): readonly number[] {
  const { active, names, pods, spec, succeededIndexes, failedIndexes = [] } = state;
  let taken = union(withIndexes(succeededIndexes, indexesOf(active, names)), failedIndexes);
  if (replacesOnlyTerminated(spec)) {
    taken = withIndexes(taken, indexesOf(pods.filter(isPodTerminating), names));
  }
  return firstMissing(taken, count, spec.completions ?? 0);
}

/**
 * Indexes whose backoff has expired; if there are none, the milliseconds until the first one expires.
 */
export function readyIndexes(
  { delayed, names, now }: JobState,
  indexes: readonly number[],
): { readonly indexes: readonly number[]; readonly delayMs: number } {
  const delays = indexes.map((index) => {
    const pod = delayed.get(index);
    if (pod === undefined) return 0;
    const failures = allIndexFailuresOf(pod, names) + 1;
    return remainingDelay({ failures, lastFailure: finishTimeOf(pod) }, now);
  });
  const ready = indexes.filter((_, position) => delays[position] === 0);
  if (ready.length > 0 || delays.length === 0) return { indexes: ready, delayMs: 0 };
  return { indexes: [], delayMs: delays.reduce((a, b) => Math.min(a, b)) };
}

/** Draft of a pod; `index` is absent unless the Job is Indexed. */
export function newPod(state: JobState, index?: number): Draft<Pod> {
  const { job, names, spec } = state;
  const draft = podFromTemplate(spec.template, job, jobs);
  const { finalizers = [] } = draft.metadata;
  const tracked = finalizers.includes(names.trackingFinalizer)
    ? finalizers
    : [...finalizers, names.trackingFinalizer];
  if (index === undefined || !isIndexed(spec)) {
    return { ...draft, metadata: { ...draft.metadata, finalizers: tracked } };
  }
  const { labels, annotations } = draft.metadata;
  const { name } = job.metadata;
  const indexText = String(index);
  return {
    metadata: {
      ...draft.metadata,
      generateName: generateNameOf(name, index),
      finalizers: tracked,
      labels: { ...labels, [names.completionIndex]: indexText },
      annotations: {
        ...annotations,
        [names.completionIndex]: indexText,
        ...failureCounts(state, index),
      },
    },
    spec: {
      ...withIndexVariable(draft.spec ?? {}, names.completionIndex),
      hostname: `${name}-${index}`,
    },
  };
}

function generateNameOf(name: string, index: number): string {
  const suffix = `-${index}-`;
  return name.slice(0, maxGenerateName - suffix.length) + suffix;
}

/** Failure count annotations, including the failure of the replaced pod. */
function failureCounts({ delayed, names, spec }: JobState, index: number) {
  if (spec.backoffLimitPerIndex === undefined) return {};
  const replaced = delayed.get(index);
  if (replaced === undefined) return { [names.indexFailureCount]: "0" };
  const { isCounted } = decideFailure(spec.podFailurePolicy, replaced);
  const failures = indexFailuresOf(replaced, names) + (isCounted ? 1 : 0);
  const ignored = indexIgnoredFailuresOf(replaced, names) + (isCounted ? 0 : 1);
  return {
    [names.indexFailureCount]: String(failures),
    ...(ignored > 0 ? { [names.indexIgnoredFailureCount]: String(ignored) } : {}),
  };
}

/** Adds JOB_COMPLETION_INDEX to all containers that do not set it. */
function withIndexVariable(spec: PodSpec, label: string): PodSpec {
  const fieldPath = `metadata.labels['${label}']`;
  const variable = { name: indexVariable, valueFrom: { fieldRef: { fieldPath } } };
  const add = (container: Container): Container => {
    const { env = [] } = container;
    const isSet = env.some(({ name }) => name === indexVariable);
    return isSet ? container : { ...container, env: [...env, variable] };
  };
  const { containers, initContainers } = spec;
  return {
    ...spec,
    ...(containers === undefined ? {} : { containers: containers.map(add) }),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(add) }),
  };
}

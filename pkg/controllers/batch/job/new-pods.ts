/** Pods that a Job creates. */
import type { Draft } from "#client";
import { type Container, jobs, type Pod, type PodSpec } from "#kinds";
import { podFromTemplate } from "../../pods/pod-control.ts";
import { finishTimeOf } from "./policy/finish-time.ts";
import { firstMissing, merge, withIndexes } from "./policy/index-intervals.ts";
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
/** The API server adds five characters to a generated name, which holds 63. */
const longestGenerateName = 58;

/** The lowest indexes without an active, succeeded or failed pod, at most `count`. */
export function missingIndexes(state: JobState, count: number): readonly number[] {
  const { active, names, pods, spec, succeededIndexes, failedIndexes = [] } = state;
  let taken = merge(withIndexes(succeededIndexes, indexesOf(active, names)), failedIndexes);
  if (replacesOnlyTerminated(spec)) {
    taken = withIndexes(taken, indexesOf(pods.filter(isPodTerminating), names));
  }
  return firstMissing(taken, count, spec.completions ?? 0);
}

/**
 * The indexes whose backoff is over; if there is none, the time in milliseconds until the first one
 * is over.
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

/** A pod of the Job; `index` is absent unless the Job is Indexed. */
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
  return name.slice(0, longestGenerateName - suffix.length) + suffix;
}

/** Annotations that carry on the failures of the pod that is replaced. */
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

/** Adds the variable to all containers that do not set it themselves. */
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

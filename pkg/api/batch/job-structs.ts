import {
  required,
  bool,
  type Infer,
  int32,
  int64,
  list,
  named,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { labelSelector, objectMeta, time, uid } from "#meta";
import { podTemplateSpec } from "../core/pod/spec/pod-spec.ts";

const v1 = structs("api/batch/v1");
const atomic = { listType: "atomic" } as const;

const onExitCodes = v1(
  "PodFailurePolicyOnExitCodesRequirement",
  "Matches a failed pod by the exit codes of its containers.",
  {
    containerName: pointer(
      1,
      string,
      "Container or init container whose exit code counts. When absent, every container counts.",
    ),
    operator: required(
      2,
      named("v1.PodFailurePolicyOnExitCodesOperator", "In", "NotIn"),
      "How exit codes relate to values. One of In (at least one exit code is listed), NotIn " +
        "(at least one exit code is not listed). Containers that exited with 0 are ignored.",
    ),
    values: required(
      3,
      list(int32),
      "Exit codes to compare with: 1 to 255 entries, sorted and without duplicates. 0 is not " +
        "allowed with operator In.",
      {
        listType: "set",
      },
    ),
  },
);

const onPodConditions = v1(
  "PodFailurePolicyOnPodConditionsPattern",
  "Matches a failed pod by one of its conditions.",
  {
    type: required(
      1,
      named("v1.PodConditionType"),
      "Condition type to look for, for example DisruptionTarget.",
    ),
    status: required(
      2,
      named("v1.ConditionStatus"),
      "Status that the condition must have: one of True, False, Unknown. Defaults to True.",
      { default: "True", openApi: { required: true } },
    ),
  },
);

const podFailurePolicyRule = v1(
  "PodFailurePolicyRule",
  "One rule: what a pod failure must look like, and the action to take. Exactly one of " +
    "onExitCodes and onPodConditions must be set.",
  {
    action: required(
      1,
      named("v1.PodFailurePolicyAction", "FailJob", "FailIndex", "Ignore", "Count"),
      "One of FailJob (fail the Job at once), FailIndex (fail this index without retries; " +
        "needs backoffLimitPerIndex), Ignore (retry without counting towards backoffLimit), " +
        "Count (count as usual).",
    ),
    onExitCodes: pointer(2, onExitCodes, "Exit codes that the rule matches. Required."),
    onPodConditions: value(
      3,
      list(onPodConditions),
      "Pod conditions that trigger the rule, at most 20; one match is enough.",
      atomic,
    ),
  },
);

const podFailurePolicy = v1(
  "PodFailurePolicy",
  "Rules that decide how the failure of a pod affects the Job.",
  {
    rules: required(
      1,
      list(podFailurePolicyRule),
      "At most 20 rules, evaluated in order. The first match wins; without a match the " +
        "failure counts towards backoffLimit.",
      atomic,
    ),
  },
);

const successPolicyRule = v1(
  "SuccessPolicyRule",
  "One way in which an Indexed Job may succeed early. At least one field must be set.",
  {
    succeededIndexes: pointer(
      1,
      string,
      "Indexes that this rule considers, as sorted numbers and ranges: `0,2-4`. When absent, " +
        "all indexes.",
    ),
    succeededCount: pointer(
      2,
      int32,
      "How many of the considered indexes must succeed. When absent, all of succeededIndexes.",
    ),
  },
);

export const successPolicy = v1(
  "SuccessPolicy",
  "Criteria under which an Indexed Job succeeds before all indexes have completed.",
  {
    rules: required(
      1,
      list(successPolicyRule),
      "1 to 20 rules, evaluated in order. When one is met, the Job succeeds and the " +
        "remaining pods are terminated.",
      atomic,
    ),
  },
);

export const jobSpec = v1("JobSpec", "Desired state of a Job.", {
  parallelism: pointer(
    1,
    int32,
    "Maximum number of pods that run at the same time; 0 pauses the Job. Fewer run when " +
      "less work is left. Defaults to 1.",
  ),
  completions: pointer(
    2,
    int32,
    "Number of pods that must succeed. Absent with parallelism set: success of any pod " +
      "lets the Job complete. Defaults to 1 when both are absent. Immutable in existing " +
      "Jobs, except in step with parallelism of an Indexed Job.",
  ),
  activeDeadlineSeconds: pointer(
    3,
    int64,
    "Seconds since startTime after which the Job fails and its pods are terminated. " +
      "Suspended time does not count, and the deadline wins over backoffLimit.",
  ),
  podFailurePolicy: pointer(
    11,
    podFailurePolicy,
    "Rules for treating pod failures by exit code or condition. Requires restartPolicy " +
      "Never in the template. Immutable in existing Jobs.",
  ),
  successPolicy: pointer(
    16,
    successPolicy,
    "Criteria for succeeding early. Requires completionMode Indexed; by default all " +
      "completions are needed. Immutable in existing Jobs.",
  ),
  backoffLimit: pointer(
    7,
    int32,
    "Pod failures tolerated before the Job fails. Defaults to 6, or to 2147483647 when " +
      "backoffLimitPerIndex is set.",
  ),
  backoffLimitPerIndex: pointer(
    12,
    int32,
    "Pod failures tolerated for each index before that index fails. Requires " +
      "completionMode Indexed and restartPolicy Never. Immutable in existing Jobs.",
  ),
  maxFailedIndexes: pointer(
    13,
    int32,
    "Failed indexes tolerated before the Job fails. Requires backoffLimitPerIndex; absent " +
      "means that the Job runs all indexes to their end.",
  ),
  selector: pointer(
    4,
    labelSelector,
    "Label selector of the pods that the Job owns. Generated by the server unless " +
      "manualSelector is true. Immutable in existing Jobs.",
  ),
  manualSelector: pointer(
    5,
    bool,
    "Whether the client supplies selector and pod labels, and takes care that they match " +
      "no other Job. Defaults to false.",
  ),
  template: required(
    6,
    podTemplateSpec,
    "Template of the pods; its restartPolicy must be OnFailure or Never. Immutable in " +
      "existing Jobs, except for scheduling directives while the Job is suspended.",
  ),
  ttlSecondsAfterFinished: pointer(
    8,
    int32,
    "Seconds after the Job finished until it is deleted together with its pods; 0 deletes " +
      "it at once. When absent, it is never deleted automatically.",
  ),
  completionMode: pointer(
    9,
    named("v1.CompletionMode", "NonIndexed", "Indexed"),
    "One of NonIndexed (pods are interchangeable), Indexed (each pod works on an index " +
      "from 0 to completions - 1). Defaults to NonIndexed. Immutable in existing Jobs.",
  ),
  suspend: pointer(
    10,
    bool,
    "Whether the Job is suspended. Suspending deletes its active pods and resets startTime " +
      "on resumption. Defaults to false.",
  ),
  podReplacementPolicy: pointer(
    14,
    named("v1.PodReplacementPolicy", "TerminatingOrFailed", "Failed"),
    "When a replacement pod is created. One of TerminatingOrFailed (as soon as a pod " +
      "terminates), Failed (only once it has failed). Defaults to TerminatingOrFailed; must " +
      "be Failed, its default then, with podFailurePolicy.",
  ),
  managedBy: pointer(
    15,
    string,
    "Controller that reconciles the Job, as a domain-prefixed path of at most 63 " +
      "characters. Absent for the built-in controller, which skips Jobs managed by others. " +
      "Immutable in existing Jobs. Beta: feature gate JobManagedBy.",
  ),
});

const condition = v1("JobCondition", "One observed condition of a Job.", {
  type: required(
    1,
    named(
      "v1.JobConditionType",
      "Suspended",
      "Complete",
      "Failed",
      "FailureTarget",
      "SuccessCriteriaMet",
    ),
    "One of Suspended, Complete, Failed, FailureTarget (about to fail), SuccessCriteriaMet " +
      "(about to complete).",
    { openApi: { enum: false } },
  ),
  status: required(
    2,
    named("v1.ConditionStatus"),
    "Status of the condition: one of True, False, Unknown.",
  ),
  lastProbeTime: value(3, time, "Time at which the condition was last checked."),
  lastTransitionTime: value(4, time, "Time at which `status` last changed to another value."),
  reason: value(5, string, "Machine-readable CamelCase reason for the last transition."),
  message: value(6, string, "Human-readable message with details about the last transition."),
});

export const uncounted = v1(
  "UncountedTerminatedPods",
  "Terminated pods that still have the Job's tracking finalizer.",
  {
    succeeded: value(
      1,
      list(uid),
      "UIDs of succeeded pods that are not yet part of the counters.",
      { listType: "set" },
    ),
    failed: value(2, list(uid), "UIDs of failed pods that are not yet part of the counters.", {
      listType: "set",
    }),
  },
);

const jobStatus = v1("JobStatus", "Observed state of a Job.", {
  conditions: value(
    1,
    list(condition),
    "Latest observed conditions. Complete or Failed with status True marks the Job as finished.",
    {
      listType: "atomic",
      patchStrategy: ["merge"],
      patchMergeKey: "type",
    },
  ),
  startTime: pointer(
    2,
    time,
    "Time at which the controller started the Job. Cleared by suspension and set again on " +
      "resumption.",
  ),
  completionTime: pointer(
    3,
    time,
    "Time at which the Job completed successfully. Unset for Jobs that failed.",
  ),
  active: value(4, int32, "Pods that are pending or running and not terminating."),
  succeeded: value(5, int32, "Pods that reached phase Succeeded. Must not decrease."),
  failed: value(6, int32, "Pods that reached phase Failed. Must not decrease."),
  terminating: pointer(
    11,
    int32,
    "Pods that have a deletion timestamp and are still pending or running.",
  ),
  completedIndexes: value(
    7,
    string,
    "Indexes that succeeded, as sorted numbers and ranges: `0,2-4`. Only for Indexed Jobs.",
  ),
  failedIndexes: pointer(
    10,
    string,
    "Indexes that failed, as sorted numbers and ranges: `0,2-4`. Only with backoffLimitPerIndex.",
  ),
  uncountedTerminatedPods: pointer(
    8,
    uncounted,
    "Pods on their way into the counters succeeded and failed. Absent when there are none.",
  ),
  ready: pointer(9, int32, "Active pods whose Ready condition is True."),
});

export const jobV1 = v1("Job", "Job runs pods until a given number of them has succeeded.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
  spec: value(2, jobSpec, "Pod template, completions, parallelism and failure handling."),
  status: value(3, jobStatus, "Pod counts and outcome reported by the Job controller. Read-only."),
});

export const jobTemplateSpec = v1(
  "JobTemplateSpec",
  "Template of the Jobs that a CronJob creates.",
  {
    metadata: value(1, objectMeta, "Labels and annotations of each Job."),
    spec: value(2, jobSpec, "Specification that each Job starts with."),
  },
);

export type Job = Infer<typeof jobV1>;
export type JobSpec = Infer<typeof jobSpec>;

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
  "Requirement on the exit codes of the containers of a failed pod.",
  {
    containerName: pointer(
      1,
      string,
      "Container or init container to restrict the check to. If absent, all of them are checked.",
    ),
    operator: required(
      2,
      named("v1.PodFailurePolicyOnExitCodesOperator", "In", "NotIn"),
      "Relationship of the exit codes to the values. One of In (at least one exit code is in " +
        "values), NotIn (at least one is not in values). Exit code 0 is ignored.",
    ),
    values: required(
      3,
      list(int32),
      "Exit codes to compare with: 1 to 255 of them, sorted and without duplicates. Must not " +
        "contain 0 for operator In.",
      {
        listType: "set",
      },
    ),
  },
);

const onPodConditions = v1(
  "PodFailurePolicyOnPodConditionsPattern",
  "Requirement on a condition of a failed pod.",
  {
    type: required(
      1,
      named("v1.PodConditionType"),
      "Required type of the pod condition, for example DisruptionTarget.",
    ),
    status: required(
      2,
      named("v1.ConditionStatus"),
      "Required status of the pod condition: one of True, False, Unknown. Defaults to True.",
      { default: "True", openApi: { required: true } },
    ),
  },
);

const podFailurePolicyRule = v1(
  "PodFailurePolicyRule",
  "Rule for a pod failure: its requirements and the action to take. Exactly one of onExitCodes " +
    "and onPodConditions must be set.",
  {
    action: required(
      1,
      named("v1.PodFailurePolicyAction", "FailJob", "FailIndex", "Ignore", "Count"),
      "Action to take on a match. One of FailJob (fail the Job and terminate its pods), " +
        "FailIndex (fail the index; requires backoffLimitPerIndex), Ignore (replace the pod " +
        "without counting the failure), Count (count the failure towards backoffLimit).",
    ),
    onExitCodes: pointer(2, onExitCodes, "Exit codes that the rule matches. Required."),
    onPodConditions: value(
      3,
      list(onPodConditions),
      "Pod conditions that the rule matches, at least one of them. At most 20.",
      atomic,
    ),
  },
);

const podFailurePolicy = v1(
  "PodFailurePolicy",
  "Rules for how the failure of a pod affects the Job.",
  {
    rules: required(
      1,
      list(podFailurePolicyRule),
      "Rules, evaluated in order: the first match applies. Without a match, the failure counts " +
        "towards backoffLimit. At most 20.",
      atomic,
    ),
  },
);

const successPolicyRule = v1(
  "SuccessPolicyRule",
  "Rule for declaring an Indexed Job successful. At least one field must be set.",
  {
    succeededIndexes: pointer(
      1,
      string,
      "Indexes that must succeed, or that succeededCount refers to, as sorted numbers and " +
        "ranges such as `0,2-4`. If absent, any index.",
    ),
    succeededCount: pointer(
      2,
      int32,
      "Minimum number of indexes that must succeed, among succeededIndexes if that is set. If " +
        "absent, all of succeededIndexes must.",
    ),
  },
);

export const successPolicy = v1(
  "SuccessPolicy",
  "Criteria by which an Indexed Job succeeds although not all indexes have succeeded.",
  {
    rules: required(
      1,
      list(successPolicyRule),
      "Rules, 1 to 20, evaluated in order. When one is met, the Job succeeds and its remaining " +
        "pods are terminated.",
      atomic,
    ),
  },
);

export const jobSpec = v1("JobSpec", "Desired state of a Job.", {
  parallelism: pointer(
    1,
    int32,
    "Maximum number of pods that run at any time. Fewer run if less work is left; 0 pauses the " +
      "Job. Defaults to 1.",
  ),
  completions: pointer(
    2,
    int32,
    "Number of pods that must finish successfully. If only parallelism is set, the success of " +
      "any pod completes the Job. Defaults to 1 if both are absent. Immutable in existing " +
      "Jobs, except together with parallelism of an Indexed Job.",
  ),
  activeDeadlineSeconds: pointer(
    3,
    int64,
    "Seconds after startTime at which the Job fails and its pods are terminated. Takes " +
      "precedence over backoffLimit. A Job that resumes from suspension has the full time " +
      "again.",
  ),
  podFailurePolicy: pointer(
    11,
    podFailurePolicy,
    "Handling of pod failures by exit code or condition. Requires restartPolicy Never in the " +
      "template. Immutable in existing Jobs.",
  ),
  successPolicy: pointer(
    16,
    successPolicy,
    "Criteria for declaring the Job successful early. Requires completionMode Indexed. Without " +
      "it, the Job succeeds after all completions. Immutable in existing Jobs.",
  ),
  backoffLimit: pointer(
    7,
    int32,
    "Number of retries before the Job is marked as failed. Defaults to 6, or to 2147483647 if " +
      "backoffLimitPerIndex is set.",
  ),
  backoffLimitPerIndex: pointer(
    12,
    int32,
    "Number of retries within an index before the index is marked as failed. Requires " +
      "completionMode Indexed and restartPolicy Never. Immutable in existing Jobs.",
  ),
  maxFailedIndexes: pointer(
    13,
    int32,
    "Maximum number of failed indexes before the Job is marked as failed and its pods are " +
      "terminated. If absent, all indexes run to completion. Requires backoffLimitPerIndex.",
  ),
  selector: pointer(
    4,
    labelSelector,
    "Label query over the pods of the Job. Generated by the API server unless manualSelector " +
      "is true. Immutable in existing Jobs.",
  ),
  manualSelector: pointer(
    5,
    bool,
    "Whether the client sets selector and the labels of the template, and ensures that they " +
      "are unique. Otherwise the API server generates them. Defaults to false.",
  ),
  template: required(
    6,
    podTemplateSpec,
    "Template of the pods. restartPolicy must be OnFailure or Never. Immutable in existing " +
      "Jobs, except for scheduling directives while the Job is suspended and has not started.",
  ),
  ttlSecondsAfterFinished: pointer(
    8,
    int32,
    "Seconds after which a finished Job is deleted together with its pods. 0 deletes it " +
      "immediately. If absent, it is not deleted automatically.",
  ),
  completionMode: pointer(
    9,
    named("v1.CompletionMode", "NonIndexed", "Indexed"),
    "Tracking of completions. One of NonIndexed (pods are interchangeable), Indexed (each pod " +
      "has an index from 0 to completions - 1, and each index must succeed once). Defaults to " +
      "NonIndexed. Immutable in existing Jobs.",
  ),
  suspend: pointer(
    10,
    bool,
    "Whether the Job is suspended: no pods are created, and active ones are deleted. startTime " +
      "is reset when the Job resumes. Defaults to false.",
  ),
  podReplacementPolicy: pointer(
    14,
    named("v1.PodReplacementPolicy", "TerminatingOrFailed", "Failed"),
    "When to create replacement pods. One of TerminatingOrFailed (once a pod is terminating or " +
      "has failed), Failed (only once it has terminated). Defaults to TerminatingOrFailed. " +
      "With podFailurePolicy, Failed is the default and the only allowed value.",
  ),
  managedBy: pointer(
    15,
    string,
    "Controller that manages the Job, as a domain-prefixed path of at most 63 characters. The " +
      "built-in controller manages Jobs without it and skips all others. Immutable in existing " +
      "Jobs. Beta: feature gate JobManagedBy.",
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
    "Type of the condition: Suspended, Complete, Failed, FailureTarget (about to fail) or " +
      "SuccessCriteriaMet (about to complete).",
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
  "UIDs of terminated pods that the Job controller has not yet added to its counters.",
  {
    succeeded: value(1, list(uid), "UIDs of succeeded pods that are not yet counted.", {
      listType: "set",
    }),
    failed: value(2, list(uid), "UIDs of failed pods that are not yet counted.", {
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
    "Time at which the Job controller started processing the Job. Reset when a suspended Job " +
      "resumes.",
  ),
  completionTime: pointer(
    3,
    time,
    "Time at which the Job completed successfully. Not set if it failed.",
  ),
  active: value(4, int32, "Number of pods that are pending or running, and not terminating."),
  succeeded: value(5, int32, "Number of pods that reached phase Succeeded. Must not decrease."),
  failed: value(6, int32, "Number of pods that reached phase Failed. Must not decrease."),
  terminating: pointer(
    11,
    int32,
    "Number of terminating pods: pending or running, with a deletion timestamp.",
  ),
  completedIndexes: value(
    7,
    string,
    "Indexes that completed, as sorted numbers and ranges such as `0,2-4`. Only for Indexed Jobs.",
  ),
  failedIndexes: pointer(
    10,
    string,
    "Indexes that failed, as sorted numbers and ranges such as `0,2-4`. Only with " +
      "backoffLimitPerIndex.",
  ),
  uncountedTerminatedPods: pointer(
    8,
    uncounted,
    "UIDs of terminated pods that are not yet counted in succeeded and failed. Absent if there " +
      "are none.",
  ),
  ready: pointer(9, int32, "Number of active pods whose Ready condition is True."),
});

export const jobV1 = v1(
  "Job",
  "Job runs pods until a given number of them has finished successfully.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, jobSpec, "Pod template, completions, parallelism and failure handling."),
    status: value(
      3,
      jobStatus,
      "Pod counts and outcome reported by the Job controller. Read-only.",
    ),
  },
);

export const jobTemplateSpec = v1(
  "JobTemplateSpec",
  "Template of the Jobs that a CronJob creates.",
  {
    metadata: value(1, objectMeta, "Metadata of the Jobs."),
    spec: value(2, jobSpec, "Specification of the Jobs."),
  },
);

export type Job = Infer<typeof jobV1>;
export type JobSpec = Infer<typeof jobSpec>;

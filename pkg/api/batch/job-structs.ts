import {
  always,
  bool,
  type Infer,
  int32,
  int64,
  list,
  named,
  optional,
  plain,
  string,
  structs,
} from "#schema";
import { labelSelector, objectMeta, time } from "#meta";
import { podTemplateSpec } from "../core/pod-spec.ts";

const v1 = structs("api/batch/v1");
const atomic = { listType: "atomic" } as const;

const onExitCodes = v1(
  "PodFailurePolicyOnExitCodesRequirement",
  "Relates exit codes of containers to numbers.",
  {
    containerName: optional(1, string, "Only this container; absent means any."),
    operator: always(
      2,
      named("v1.PodFailurePolicyOnExitCodesOperator", "In", "NotIn"),
      "In or NotIn.",
    ),
    values: always(3, list(int32), "The numbers, in order; no 0 with In.", {
      listType: "set",
    }),
  },
);

const onPodConditions = v1(
  "PodFailurePolicyOnPodConditionsPattern",
  "A condition of pods, with its status.",
  {
    type: always(1, string, "Type of the condition."),
    status: always(2, string, "Its status, True by default.", { default: "True" }),
  },
);

const podFailurePolicyRule = v1("PodFailurePolicyRule", "What certain failures lead to.", {
  action: always(
    1,
    named("v1.PodFailurePolicyAction", "FailJob", "FailIndex", "Ignore", "Count"),
    "FailJob, FailIndex, Ignore (the failure does not count) or Count.",
  ),
  onExitCodes: optional(2, onExitCodes, "Failures by exit code."),
  onPodConditions: plain(3, list(onPodConditions), "Failures by condition: any of these.", atomic),
});

const podFailurePolicy = v1("PodFailurePolicy", "What failures of pods lead to.", {
  rules: always(1, list(podFailurePolicyRule), "The first that fits a failure counts.", atomic),
});

const successPolicyRule = v1("SuccessPolicyRule", "When enough has succeeded.", {
  succeededIndexes: optional(1, string, "Indexes that count, as in `0,2-4`."),
  succeededCount: optional(2, int32, "How many of them must have succeeded; absent: all."),
});

const successPolicy = v1("SuccessPolicy", "When the job counts as done before all is done.", {
  rules: always(1, list(successPolicyRule), "Any of these is enough.", atomic),
});

const jobSpec = v1("JobSpec", "Which pods, and how often they must succeed.", {
  parallelism: optional(1, int32, "How many pods may run at a time."),
  completions: optional(2, int32, "How many must succeed; absent: the first success ends the job."),
  activeDeadlineSeconds: optional(3, int64, "Seconds after which the job fails."),
  podFailurePolicy: optional(11, podFailurePolicy, "What failures of pods lead to."),
  successPolicy: optional(16, successPolicy, "When the job counts as done early."),
  backoffLimit: optional(7, int32, "How many failures make the job fail."),
  backoffLimitPerIndex: optional(12, int32, "How many failures make an index fail."),
  maxFailedIndexes: optional(13, int32, "How many failed indexes make the job fail."),
  selector: optional(4, labelSelector, "Selects the pods; made by the server."),
  manualSelector: optional(5, bool, "True = the client makes the selector and the labels."),
  template: always(6, podTemplateSpec, "The pods to be made."),
  ttlSecondsAfterFinished: optional(8, int32, "Seconds after the end until the job is deleted."),
  completionMode: optional(
    9,
    named("v1.CompletionMode", "NonIndexed", "Indexed"),
    "NonIndexed, or Indexed: each pod works on an index of its own.",
  ),
  suspend: optional(10, bool, "True = no pods run for the time being."),
  podReplacementPolicy: optional(
    14,
    named("v1.PodReplacementPolicy", "TerminatingOrFailed", "Failed"),
    "When a pod is replaced: as soon as it ends (TerminatingOrFailed) or once it has (Failed).",
  ),
  managedBy: optional(15, string, "The controller that takes care of the job; fixed."),
});

const condition = v1("JobCondition", "One thing that holds or does not.", {
  type: always(
    1,
    named(
      "v1.JobConditionType",
      "Suspended",
      "Complete",
      "Failed",
      "FailureTarget",
      "SuccessCriteriaMet",
    ),
    "What it is about, as in Complete or Failed.",
  ),
  status: always(2, string, "True, False or Unknown."),
  lastProbeTime: plain(3, time, "When it was last looked at."),
  lastTransitionTime: plain(4, time, "When the status last changed."),
  reason: plain(5, string, "Why, in one word for machines."),
  message: plain(6, string, "Why, in words."),
});

const uncounted = v1("UncountedTerminatedPods", "Ended pods that the numbers do not count yet.", {
  succeeded: plain(1, list(string), "UIDs of those that succeeded.", { listType: "set" }),
  failed: plain(2, list(string), "UIDs of those that failed.", { listType: "set" }),
});

const jobStatus = v1("JobStatus", "How far the job has got.", {
  conditions: plain(1, list(condition), "What holds.", {
    listType: "atomic",
    patchStrategy: ["merge"],
    patchMergeKey: "type",
  }),
  startTime: optional(2, time, "When it began, or went on after a suspension."),
  completionTime: optional(3, time, "When it succeeded."),
  active: plain(4, int32, "Pods that wait or run."),
  succeeded: plain(5, int32, "Pods that succeeded."),
  failed: plain(6, int32, "Pods that failed."),
  terminating: optional(11, int32, "Pods that are about to end."),
  completedIndexes: plain(7, string, "Indexes that succeeded, as in `0,2-4`."),
  failedIndexes: optional(10, string, "Indexes that failed, as in `0,2-4`."),
  uncountedTerminatedPods: optional(8, uncounted, "Ended pods that are not counted yet."),
  ready: optional(9, int32, "Active pods that are ready."),
});

export const jobV1 = v1("Job", "Runs pods until enough of them have succeeded.", {
  metadata: plain(1, objectMeta, "Standard object metadata."),
  spec: plain(2, jobSpec, "Which pods, and how often they must succeed."),
  status: plain(3, jobStatus, "How far the job has got."),
});

export const jobTemplateSpec = v1("JobTemplateSpec", "Jobs to be made.", {
  metadata: plain(1, objectMeta, "Standard object metadata."),
  spec: plain(2, jobSpec, "What they do."),
});

export type Job = Infer<typeof jobV1>;
export type JobSpec = Infer<typeof jobSpec>;

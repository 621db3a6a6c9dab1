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
import { labelSelector, objectMeta, time } from "#meta";
import { podTemplateSpec } from "../core/pod/spec/pod-spec.ts";

const v1 = structs("api/batch/v1");
const atomic = { listType: "atomic" } as const;

const onExitCodes = v1(
  "PodFailurePolicyOnExitCodesRequirement",
  "Relates exit codes of containers to numbers.",
  {
    containerName: pointer(1, string, "Only this container; absent means any."),
    operator: required(
      2,
      named("v1.PodFailurePolicyOnExitCodesOperator", "In", "NotIn"),
      "In or NotIn.",
    ),
    values: required(3, list(int32), "The numbers, in order; no 0 with In.", {
      listType: "set",
    }),
  },
);

const onPodConditions = v1(
  "PodFailurePolicyOnPodConditionsPattern",
  "A condition of pods, with its status.",
  {
    type: required(1, string, "Type of the condition."),
    status: required(2, string, "Its status, True by default.", { default: "True" }),
  },
);

const podFailurePolicyRule = v1("PodFailurePolicyRule", "What certain failures lead to.", {
  action: required(
    1,
    named("v1.PodFailurePolicyAction", "FailJob", "FailIndex", "Ignore", "Count"),
    "FailJob, FailIndex, Ignore (the failure does not count) or Count.",
  ),
  onExitCodes: pointer(2, onExitCodes, "Failures by exit code."),
  onPodConditions: value(3, list(onPodConditions), "Failures by condition: any of these.", atomic),
});

const podFailurePolicy = v1("PodFailurePolicy", "What failures of pods lead to.", {
  rules: required(1, list(podFailurePolicyRule), "The first that fits a failure counts.", atomic),
});

const successPolicyRule = v1("SuccessPolicyRule", "When enough has succeeded.", {
  succeededIndexes: pointer(1, string, "Indexes that count, as in `0,2-4`."),
  succeededCount: pointer(2, int32, "How many of them must have succeeded; absent: all."),
});

const successPolicy = v1("SuccessPolicy", "When the job counts as done before all is done.", {
  rules: required(1, list(successPolicyRule), "Any of these is enough.", atomic),
});

const jobSpec = v1("JobSpec", "Which pods, and how often they must succeed.", {
  parallelism: pointer(1, int32, "How many pods may run at a time."),
  completions: pointer(2, int32, "How many must succeed; absent: the first success ends the job."),
  activeDeadlineSeconds: pointer(3, int64, "Seconds after which the job fails."),
  podFailurePolicy: pointer(11, podFailurePolicy, "What failures of pods lead to."),
  successPolicy: pointer(16, successPolicy, "When the job counts as done early."),
  backoffLimit: pointer(7, int32, "How many failures make the job fail."),
  backoffLimitPerIndex: pointer(12, int32, "How many failures make an index fail."),
  maxFailedIndexes: pointer(13, int32, "How many failed indexes make the job fail."),
  selector: pointer(4, labelSelector, "Selects the pods; made by the server."),
  manualSelector: pointer(5, bool, "True = the client makes the selector and the labels."),
  template: required(6, podTemplateSpec, "The pods to be made."),
  ttlSecondsAfterFinished: pointer(8, int32, "Seconds after the end until the job is deleted."),
  completionMode: pointer(
    9,
    named("v1.CompletionMode", "NonIndexed", "Indexed"),
    "NonIndexed, or Indexed: each pod works on an index of its own.",
  ),
  suspend: pointer(10, bool, "True = no pods run for the time being."),
  podReplacementPolicy: pointer(
    14,
    named("v1.PodReplacementPolicy", "TerminatingOrFailed", "Failed"),
    "When a pod is replaced: as soon as it ends (TerminatingOrFailed) or once it has (Failed).",
  ),
  managedBy: pointer(15, string, "The controller that takes care of the job; fixed."),
});

const condition = v1("JobCondition", "One thing that holds or does not.", {
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
    "What it is about, as in Complete or Failed.",
  ),
  status: required(2, string, "True, False or Unknown."),
  lastProbeTime: value(3, time, "When it was last looked at."),
  lastTransitionTime: value(4, time, "When the status last changed."),
  reason: value(5, string, "Why, in one word for machines."),
  message: value(6, string, "Why, in words."),
});

const uncounted = v1("UncountedTerminatedPods", "Ended pods that the numbers do not count yet.", {
  succeeded: value(1, list(string), "UIDs of those that succeeded.", { listType: "set" }),
  failed: value(2, list(string), "UIDs of those that failed.", { listType: "set" }),
});

const jobStatus = v1("JobStatus", "How far the job has got.", {
  conditions: value(1, list(condition), "What holds.", {
    listType: "atomic",
    patchStrategy: ["merge"],
    patchMergeKey: "type",
  }),
  startTime: pointer(2, time, "When it began, or went on after a suspension."),
  completionTime: pointer(3, time, "When it succeeded."),
  active: value(4, int32, "Pods that wait or run."),
  succeeded: value(5, int32, "Pods that succeeded."),
  failed: value(6, int32, "Pods that failed."),
  terminating: pointer(11, int32, "Pods that are about to end."),
  completedIndexes: value(7, string, "Indexes that succeeded, as in `0,2-4`."),
  failedIndexes: pointer(10, string, "Indexes that failed, as in `0,2-4`."),
  uncountedTerminatedPods: pointer(8, uncounted, "Ended pods that are not counted yet."),
  ready: pointer(9, int32, "Active pods that are ready."),
});

export const jobV1 = v1("Job", "Runs pods until enough of them have succeeded.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
  spec: value(2, jobSpec, "Which pods, and how often they must succeed."),
  status: value(3, jobStatus, "How far the job has got."),
});

export const jobTemplateSpec = v1("JobTemplateSpec", "Jobs to be made.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
  spec: value(2, jobSpec, "What they do."),
});

export type Job = Infer<typeof jobV1>;
export type JobSpec = Infer<typeof jobSpec>;

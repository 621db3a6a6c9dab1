import { Path, type Problems } from "#schema";
import { type HookContext, kind } from "#meta";
import { entry, sortedKeys } from "../../strategy.ts";
import { checkImageSpace } from "./container/container-rules.ts";
import {
  annotationKeys,
  checkAppArmorAgreement,
  checkPodAnnotations,
  checkSeccompAgreement,
} from "./spec/pod-annotations.ts";
import { defaultPod, defaultPodTemplate } from "./spec/pod-defaults.ts";
import {
  podAttachOptions,
  podExecOptions,
  podLogOptions,
  podPortForwardOptions,
  podProxyOptions,
} from "./pod-options.ts";
import { bindingV1 } from "../binding.ts";
import { evictionV1 } from "../../policy/eviction.ts";
import { preparePodUpdate, prepareNewPod, roundStatusAmounts } from "./pod-preparation.ts";
import { checkResize } from "./pod-resize-rules.ts";
import { podColumns, podRow, podRowConditions } from "./pod-row.ts";
import { validatePodSpec } from "./spec/pod-spec-rules.ts";
import { checkPodStatus } from "./pod-status-rules.ts";
import { type Pod, podV1 } from "./pod-types.ts";
import { checkEphemeralChange, checkSpecChange } from "./pod-update-rules.ts";
import {
  appArmorWarnings,
  podNameWarnings,
  podStatusWarnings,
  podWarnings,
} from "./pod-warnings.ts";

const specPath = Path.of("spec");
const annotationsPath = Path.of("metadata.annotations");

/** Synchronizes `podIP` and `podIPs`; `podIP` takes precedence. */
function syncPodIPs({ status }: Pod): void {
  const { podIP, podIPs = [] } = status;
  if (podIP && podIPs[0]?.ip !== podIP) status.podIPs = [{ ip: podIP }];
  const [first] = status.podIPs ?? [];
  if (first !== undefined) status.podIP = first.ip;
}

/** Validates rules that apply on creation and update. */
function checkPod(pod: Pod, problems: Problems, context: HookContext): void {
  checkPodAnnotations(pod, annotationsPath, { ...context, problems });
  const podName = pod.metadata.name ?? "";
  validatePodSpec(pod.spec, specPath, { podName, problems, context });
  checkTokens(pod, problems);
  for (const field of ["containers", "initContainers"] as const) {
    for (const [index, container] of (pod.spec[field] ?? []).entries()) {
      checkImageSpace(container, specPath.child(field).index(index), problems);
    }
  }
}

/** Rejects service account token volumes in pods without a service account. */
function checkTokens({ spec }: Pod, problems: Problems): void {
  if (spec.serviceAccountName) return;
  for (const [index, { projected }] of (spec.volumes ?? []).entries()) {
    const sources = specPath.child("volumes").index(index).child("projected", "sources");
    for (const [i, { serviceAccountToken }] of (projected?.sources ?? []).entries()) {
      if (serviceAccountToken === undefined) continue;
      const detail = "must not be specified when serviceAccountName is not set";
      problems.forbidden(sources.index(i).child("serviceAccountToken"), detail);
    }
  }
}

function validate(pod: Pod, problems: Problems, context: HookContext): void {
  const { spec } = pod;
  const { domain } = context;
  checkPod(pod, problems, context);
  if ((spec.ephemeralContainers ?? []).length > 0) {
    problems.forbidden(specPath.child("ephemeralContainers"), "cannot be set on create");
  }
  if (spec.nodeName && (spec.schedulingGates ?? []).length > 0) {
    const detail = "cannot be set until all schedulingGates have been cleared";
    problems.forbidden(specPath.child("nodeName"), detail);
  }
  const isMirror = entry(pod.metadata.annotations, annotationKeys(domain).mirror) !== undefined;
  if (isMirror && (spec.resourceClaims ?? []).length > 0) {
    problems.forbidden(Path.of("[]"), "static pods do not support resource claims");
  }
  checkSeccompAgreement(pod, specPath, { domain, problems });
  checkAppArmorAgreement(pod, specPath, { domain, problems });
}

/** Rejects adding, changing or removing annotations that are fixed on creation. */
function checkFixedAnnotations(
  pod: Pod,
  old: Pod,
  { problems, context }: { readonly problems: Problems; readonly context: HookContext },
): void {
  const { mirror, appArmor } = annotationKeys(context.domain);
  const [now, before] = [pod.metadata.annotations, old.metadata.annotations];
  const refuse = (key: string, verb: string) => {
    const path = annotationsPath.key(key);
    if (key.startsWith(appArmor)) problems.forbidden(path, `${verb} AppArmor annotations`);
    if (key === mirror) problems.forbidden(path, `${verb} mirror pod annotation`);
  };
  for (const key of sortedKeys(before)) {
    if (entry(now, key) !== entry(before, key)) refuse(key, "may not remove or update");
  }
  for (const key of sortedKeys(now)) {
    if (entry(before, key) === undefined) refuse(key, "may not add");
  }
  checkPodAnnotations(pod, annotationsPath, { ...context, problems });
}

function validateUpdate(pod: Pod, old: Pod, problems: Problems, context: HookContext): void {
  switch (context.subresource) {
    case "status":
      checkFixedAnnotations(pod, old, { problems, context });
      return checkPodStatus(pod, old, problems);
    case "ephemeralcontainers":
      checkPod(pod, problems, context);
      return checkEphemeralChange(pod.spec, old.spec, problems);
    case "resize": {
      checkPod(pod, problems, context);
      const mirrorKey = annotationKeys(context.domain).mirror;
      return checkResize(pod, old, { mirrorKey, problems });
    }
    default:
      checkPod(pod, problems, context);
      checkFixedAnnotations(pod, old, { problems, context });
      checkSpecChange(pod.spec, old.spec, problems);
  }
}

/** Grace period of a deletion in seconds; 0 if no kubelet runs the pod. */
function gracePeriod({ spec, status }: Pod, requestedSeconds: number | undefined): number {
  const isOver = status.phase === "Failed" || status.phase === "Succeeded";
  if (!spec.nodeName || isOver) return 0;
  const seconds = requestedSeconds ?? Number(spec.terminationGracePeriodSeconds ?? 0);
  return seconds < 0 ? 1 : seconds;
}

const v1 = { group: "", version: "v1" };
const stream = ["create", "get"] as const;

export const pod = kind(podV1, {
  group: "",
  kind: "Pod",
  plural: "pods",
  shortNames: ["po"],
  categories: ["all"],
  scope: "Namespaced",
  versions: [{ version: "v1", struct: podV1, onByDefault: true, convert: "hub" }],
  subresources: [
    {
      name: "attach",
      verbs: stream,
      represents: { ...v1, kind: "PodAttachOptions" },
      connects: "stream",
      options: podAttachOptions,
    },
    {
      name: "binding",
      verbs: ["create"],
      represents: { ...v1, kind: "Binding", struct: bindingV1 },
    },
    { name: "ephemeralcontainers", verbs: ["get", "patch", "update"] },
    {
      name: "eviction",
      verbs: ["create"],
      represents: { group: "policy", version: "v1", kind: "Eviction", struct: evictionV1 },
    },
    {
      name: "exec",
      verbs: stream,
      represents: { ...v1, kind: "PodExecOptions" },
      connects: "stream",
      options: podExecOptions,
    },
    { name: "log", verbs: ["get"], isText: true, options: podLogOptions },
    {
      name: "portforward",
      verbs: stream,
      represents: { ...v1, kind: "PodPortForwardOptions" },
      connects: "stream",
      options: podPortForwardOptions,
    },
    {
      name: "proxy",
      verbs: ["create", "delete", "get", "patch", "update"],
      represents: { ...v1, kind: "PodProxyOptions" },
      connects: "proxy",
      options: podProxyOptions,
    },
    { name: "resize", verbs: ["get", "patch", "update"] },
    { name: "status", verbs: ["get", "patch", "update"] },
  ],
  rules: {
    metadataOnUpdate: {
      "": ["change", "object"],
      ephemeralcontainers: ["change", "object"],
      resize: ["change", "object"],
    },
    generation: true,
    deleteReturnsObject: true,
    // kube-apiserver has filters for the last two and does not use them: what a write through them
    // cannot change is recorded nevertheless.
    resets: {
      status: ["spec", "metadata.deletionTimestamp", "metadata.ownerReferences"],
      ephemeralcontainers: [],
      resize: [],
    },
  },
  hooks: {
    default: (object, { gate }) => {
      defaultPodTemplate(object, gate);
      defaultPod(object.spec);
      roundStatusAmounts(object.status);
      syncPodIPs(object);
    },
    prepareCreate: prepareNewPod,
    prepareUpdate: preparePodUpdate,
    validate,
    validateUpdate,
    gracePeriod,
    earlyWarnings: appArmorWarnings,
    warnings: (object, old, context) => {
      if (context.subresource === "status") return podStatusWarnings(object.status);
      if (old !== undefined) return [];
      return [...podNameWarnings(object), ...podWarnings(object, undefined, context)];
    },
  },
  columns: podColumns,
  row: podRow,
  rowConditions: podRowConditions,
  selectableFields: {
    "spec.nodeName": ({ spec }) => spec.nodeName ?? "",
    // Field label before v1, which Kubernetes still accepts.
    "spec.host": ({ spec }) => spec.nodeName ?? "",
    "spec.restartPolicy": ({ spec }) => spec.restartPolicy ?? "",
    "spec.schedulerName": ({ spec }) => spec.schedulerName ?? "",
    "spec.serviceAccountName": ({ spec }) => spec.serviceAccountName ?? "",
    "spec.hostNetwork": ({ spec }) => String(spec.hostNetwork ?? false),
    "status.phase": ({ status }) => status.phase ?? "",
    "status.podIP": ({ status }) => status.podIPs?.[0]?.ip ?? "",
    // Kubernetes accepts the field label, but its value is always empty.
    "status.podIPs": () => "",
    "status.nominatedNodeName": ({ status }) => status.nominatedNodeName ?? "",
  },
});

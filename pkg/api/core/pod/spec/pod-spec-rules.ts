/** Validation of pod specs and pod templates. */
import type { Path, Problems } from "#schema";
import {
  checkAnnotations,
  checkLabels,
  type HookContext,
  isDns1123Label,
  isDns1123Subdomain,
  isQualifiedName,
} from "#meta";
import { invalidEach, unsupported } from "../../../strategy.ts";
import {
  checkContainers,
  checkEphemeralContainers,
  checkInitContainers,
} from "../container/container-rules.ts";
import {
  checkPodClaims,
  checkPodResources,
  checkRequirements,
} from "../container/container-resource-rules.ts";
import { checkDns, checkHostAliases } from "./dns-rules.ts";
import {
  checkHostNetwork,
  checkHostProcess,
  checkHostUsers,
  checkOperatingSystem,
} from "./host-rules.ts";
import { checkPodAnnotations, checkSeccompAgreement } from "./pod-annotations.ts";
import type { PodSpec, PodTemplateSpec } from "./pod-spec.ts";
import { checkVolumes } from "../../volume/pod-volume-rules.ts";
import { checkAffinity, checkSchedulingGates, checkSpread } from "./scheduling-rules.ts";
import { checkPodSecurityContext } from "../container/security-rules.ts";
import { checkToleration } from "./toleration.ts";

type Context = Pick<HookContext, "gate" | "domain" | "allowPrivileged">;

export interface PodSpecOptions {
  /** Name of the pod; absent in a template. */
  readonly podName?: string;
  readonly problems: Problems;
  readonly context: Context;
}

const maxDeadlineSeconds = 2 ** 31 - 1;

/** Validates the spec of a pod or template, in Kubernetes' order of causes. */
export function validatePodSpec(spec: PodSpec, path: Path, options: PodSpecOptions): void {
  const { podName, problems, context } = options;
  const allowPrivileged = context.allowPrivileged ?? false;
  const name = { podName: podName ?? "", problems };
  const volumeOptions = { ...name, domain: context.domain };
  const volumes = checkVolumes(spec.volumes ?? [], path.child("volumes"), volumeOptions);
  checkPodClaims(spec.resourceClaims, path.child("resourceClaims"), name);
  const claims = new Set((spec.resourceClaims ?? []).map((claim) => claim.name));
  const pod = { spec, volumes, claims, allowPrivileged, problems };
  checkContainers(path.child("containers"), pod);
  checkInitContainers(path.child("initContainers"), pod);
  checkEphemeralContainers(path.child("ephemeralContainers"), pod);
  checkPodResources(spec, path.child("resources"), pod);
  checkPolicies(spec, path, problems);
  checkLabels(spec.nodeSelector ?? {}, path.child("nodeSelector"), problems);
  checkHostNetwork(spec, path, { isPod: podName !== undefined, problems });
  const gate = context.gate;
  checkPodSecurityContext(spec, path.child("securityContext"), { gate, problems });
  if (spec.affinity !== undefined) checkAffinity(spec.affinity, path.child("affinity"), problems);
  checkDns(spec, path.child("dnsConfig"), problems);
  for (const [index, { conditionType }] of (spec.readinessGates ?? []).entries()) {
    const conditionTypePath = path.child("readinessGates").index(index).child("conditionType");
    const messages = isQualifiedName(conditionType);
    invalidEach(problems, conditionTypePath, { value: conditionType, messages });
  }
  checkSchedulingGates(spec.schedulingGates, path.child("schedulingGates"), problems);
  const constraints = path.child("topologySpreadConstraints");
  checkSpread(spec.topologySpreadConstraints ?? [], constraints, problems);
  checkHostProcess(spec, path, { allowPrivileged, problems });
  checkHostUsers(spec, path, problems);
  checkNames(spec, path, problems);
  checkRest(spec, path, problems);
}

function checkPolicies(spec: PodSpec, path: Path, problems: Problems): void {
  const choices = {
    restartPolicy: ["Always", "OnFailure", "Never"],
    dnsPolicy: ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
  };
  for (const field of ["restartPolicy", "dnsPolicy"] as const) {
    const value = spec[field];
    const supported = choices[field];
    if (!value) problems.required(path.child(field));
    else if (!supported.includes(value)) {
      unsupported(problems, path.child(field), { value, supported });
    }
  }
}

function checkNames(spec: PodSpec, path: Path, problems: Problems): void {
  const checkName = (
    field: "serviceAccountName" | "nodeName" | "hostname" | "subdomain",
    check: (name: string) => readonly string[],
  ) => {
    const value = spec[field];
    if (value) invalidEach(problems, path.child(field), { value, messages: check(value) });
  };
  checkName("serviceAccountName", isDns1123Subdomain);
  checkName("nodeName", isDns1123Subdomain);
  const deadline = spec.activeDeadlineSeconds;
  if (deadline !== undefined && (deadline < 1 || deadline > maxDeadlineSeconds)) {
    const detail = `must be between 1 and ${maxDeadlineSeconds}, inclusive`;
    problems.invalid(path.child("activeDeadlineSeconds"), deadline, detail);
  }
  checkName("hostname", isDns1123Label);
  checkName("subdomain", isDns1123Label);
}

function checkRest(spec: PodSpec, path: Path, problems: Problems): void {
  for (const [index, toleration] of (spec.tolerations ?? []).entries()) {
    checkToleration(toleration, path.child("tolerations").index(index), problems);
  }
  checkHostAliases(spec, path.child("hostAliases"), problems);
  if (spec.priorityClassName) {
    const messages = isDns1123Subdomain(spec.priorityClassName);
    const priorityClassNamePath = path.child("priorityClassName");
    invalidEach(problems, priorityClassNamePath, { value: spec.priorityClassName, messages });
  }
  if (spec.runtimeClassName !== undefined) {
    const messages = isDns1123Subdomain(spec.runtimeClassName);
    const runtimeClassNamePath = path.child("runtimeClassName");
    invalidEach(problems, runtimeClassNamePath, { value: spec.runtimeClassName, messages });
  }
  checkPreemption(spec, path.child("preemptionPolicy"), problems);
  if (spec.overhead !== undefined) {
    const limits = { limits: spec.overhead };
    checkRequirements(limits, path.child("overhead"), { claims: new Set(), problems });
  }
  checkOperatingSystem(spec, path, problems);
}

function checkPreemption({ preemptionPolicy: policy }: PodSpec, path: Path, problems: Problems) {
  const supported = ["PreemptLowerPriority", "Never"];
  if (policy === undefined || supported.includes(policy)) return;
  if (policy === "") problems.required(path);
  else unsupported(problems, path, { value: policy, supported });
}

/** Validates labels and annotations of a template; paths omit `metadata`, as in Kubernetes. */
export function validateTemplateMetadata(
  template: PodTemplateSpec,
  path: Path,
  problems: Problems,
  { domain, gate }: Context,
): void {
  const { labels = {}, annotations = {} } = template.metadata;
  checkLabels(labels, path.child("labels"), problems);
  checkAnnotations(annotations, path.child("annotations"), problems);
  checkPodAnnotations(template, path.child("annotations"), { domain, gate, problems });
}

/**
 * Validates a pod template.
 * @param path path of the template
 */
export function validatePodTemplate(
  template: PodTemplateSpec,
  path: Path,
  problems: Problems,
  context: Context,
): void {
  const { spec } = template;
  const { domain } = context;
  validateTemplateMetadata(template, path, problems, context);
  const specPath = path.child("spec");
  validatePodSpec(spec, specPath, { problems, context });
  checkSeccompAgreement(template, specPath, { domain, problems });
  if (spec.ephemeralContainers === undefined || spec.ephemeralContainers.length === 0) return;
  const detail = "ephemeral containers not allowed in pod template";
  problems.forbidden(specPath.child("ephemeralContainers"), detail);
}

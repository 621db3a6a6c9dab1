/** Validation of containers. */
import type { Path, Problems } from "#schema";
import { isDns1123Label, isPortName, isPortNumber } from "#meta";
import { invalidEach, unsupported } from "../../../strategy.ts";
import { checkRequirements } from "./container-resource-rules.ts";
import type { Container, EphemeralContainer } from "./containers.ts";
import { checkVariables, checkVariableSources } from "./environment-rules.ts";
import { checkDevices, checkMounts } from "./mount-rules.ts";
import type { PodSpec } from "../spec/pod-spec.ts";
import type { Volumes } from "../../volume/pod-volume-rules.ts";
import { checkLongRunning } from "./probe-rules.ts";
import { checkPullPolicy } from "./pull-policy.ts";
import { isSidecar } from "../../shared/resource-amounts.ts";
import { checkSecurityContext } from "./security-rules.ts";

/** Properties of the pod that container rules depend on. */
export interface Pod {
  readonly spec: PodSpec;
  readonly volumes: Volumes;
  /** Names in `spec.resourceClaims`. */
  readonly claims: ReadonlySet<string>;
  readonly allowPrivileged: boolean;
  readonly problems: Problems;
}

type Port = NonNullable<Container["ports"]>[number];

const protocols = ["SCTP", "TCP", "UDP"];

function checkPorts(ports: readonly Port[], path: Path, problems: Problems): void {
  const names = new Set<string>();
  for (const [index, { name, containerPort, hostPort, protocol = "" }] of ports.entries()) {
    const itemPath = path.index(index);
    if (name) {
      const messages = isPortName(name);
      invalidEach(problems, itemPath.child("name"), { value: name, messages });
      if (messages.length === 0 && names.has(name))
        problems.duplicate(itemPath.child("name"), name);
      names.add(name);
    }
    if (containerPort === 0) problems.required(itemPath.child("containerPort"));
    else checkNumber(containerPort, itemPath.child("containerPort"), problems);
    if (hostPort) checkNumber(hostPort, itemPath.child("hostPort"), problems);
    if (protocol === "") problems.required(itemPath.child("protocol"));
    else if (!protocols.includes(protocol)) {
      problems.notSupported(itemPath.child("protocol"), protocol, protocols);
    }
  }
}

function checkNumber(port: number, path: Path, problems: Problems): void {
  invalidEach(problems, path, { value: port, messages: isPortNumber(port) });
}

/** Requires host ports to be unique. */
function checkHostPorts(containers: readonly Container[], path: Path, problems: Problems): void {
  const taken = new Set<string>();
  for (const [index, { ports = [] }] of containers.entries()) {
    if (!ports.some(({ hostPort }) => hostPort)) continue;
    for (const [i, { protocol, hostIP = "", hostPort }] of ports.entries()) {
      if (!hostPort) continue;
      const key = `${protocol}/${hostIP}/${hostPort}`;
      const hostPortPath = path.index(index).child("ports").index(i).child("hostPort");
      if (taken.has(key)) problems.duplicate(hostPortPath, key);
      taken.add(key);
    }
  }
}

const messagePolicies = ["File", "FallbackToLogsOnError"];

/** Validates the rules of all kinds of containers. */
function checkCommon(container: Container, path: Path, pod: Pod): void {
  const { name, image, ports = [], terminationMessagePolicy: policy } = container;
  const { problems, spec } = pod;
  const namePath = path.child("name");
  if (name === "") problems.required(namePath);
  else invalidEach(problems, namePath, { value: name, messages: isDns1123Label(name) });
  if (!image) problems.required(path.child("image"));
  const policyPath = path.child("terminationMessagePolicy");
  if (!policy) problems.required(policyPath);
  else if (!messagePolicies.includes(policy)) {
    unsupported(problems, policyPath, { value: policy, supported: messagePolicies });
  }
  checkPorts(ports, path.child("ports"), problems);
  checkVariables(container.env, path.child("env"), problems);
  checkVariableSources(container.envFrom, path.child("envFrom"), problems);
  const surroundings = { container, volumes: pod.volumes, problems };
  checkMounts(path.child("volumeMounts"), surroundings);
  checkDevices(path.child("volumeDevices"), surroundings);
  checkPullPolicy(container.imagePullPolicy, path.child("imagePullPolicy"), problems);
  checkRequirements(container.resources, path.child("resources"), pod);
  checkResizePolicy(container, path.child("resizePolicy"), pod);
  checkSecurityContext(container.securityContext, path.child("securityContext"), {
    hostUsers: spec.hostUsers !== false,
    allowPrivileged: pod.allowPrivileged,
    problems,
  });
}

/** Validates resizePolicy; causes contain the path of the list, except for duplicates. */
function checkResizePolicy({ resizePolicy }: Container, path: Path, pod: Pod): void {
  if (resizePolicy === undefined) return;
  const { problems, spec } = pod;
  const seen = new Set<string>();
  for (const [index, { resourceName: name, restartPolicy }] of resizePolicy.entries()) {
    if (seen.has(name)) problems.duplicate(path.index(index), name);
    seen.add(name);
    checkOneOf(name, ["cpu", "memory"], { path, problems });
    checkOneOf(restartPolicy, ["NotRequired", "RestartContainer"], { path, problems });
    if (spec.restartPolicy !== "Never" || restartPolicy === "NotRequired") continue;
    const detail = "must be 'NotRequired' when `restartPolicy` is 'Never'";
    problems.invalid(path, restartPolicy, detail);
  }
}

function checkOneOf(
  value: string,
  values: readonly string[],
  { path, problems }: { readonly path: Path; readonly problems: Problems },
): void {
  if (value === "") problems.required(path);
  else if (!values.includes(value)) problems.notSupported(path, value, values);
}

export function checkContainers(path: Path, pod: Pod): void {
  const { spec, problems } = pod;
  const containers = spec.containers ?? [];
  if (containers.length === 0) return problems.required(path);
  const names = new Set<string>();
  for (const [index, container] of containers.entries()) {
    const itemPath = path.index(index);
    checkCommon(container, itemPath, pod);
    if (names.has(container.name)) problems.duplicate(itemPath.child("name"), container.name);
    names.add(container.name);
    checkLongRunning(container, itemPath, timing(pod));
    checkRestart(container, itemPath, problems);
  }
  checkHostPorts(containers, path, problems);
}

function timing({ spec, problems }: Pod) {
  return { gracePeriod: spec.terminationGracePeriodSeconds ?? 0, problems };
}

/** Validates restartPolicyRules, decoded only with the feature gate. */
function checkRestart(container: Container, path: Path, problems: Problems): void {
  const { restartPolicy, restartPolicyRules: rules = [] } = container;
  if (restartPolicy === undefined && rules.length === 0) return;
  const policies = ["Always", "Never", "OnFailure"];
  if (restartPolicy !== undefined && !policies.includes(restartPolicy)) {
    problems.notSupported(path.child("restartPolicy"), restartPolicy, policies);
  }
  const restartPolicyRulesPath = path.child("restartPolicyRules");
  if (rules.length > 0 && restartPolicy === undefined) {
    problems.required(path.child("restartPolicy"), "must specify restartPolicy with restart rules");
  }
  for (const [index, { action, exitCodes }] of rules.entries()) {
    const rulePath = restartPolicyRulesPath.index(index);
    if (action !== "Restart") problems.notSupported(rulePath.child("action"), action, ["Restart"]);
    if (exitCodes === undefined)
      problems.required(rulePath.child("exitCodes"), "must be specified");
  }
}

const onlySidecars = ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const;

export function checkInitContainers(path: Path, pod: Pod): void {
  const { spec, problems } = pod;
  const names = new Set((spec.containers ?? []).map(({ name }) => name));
  for (const [index, container] of (spec.initContainers ?? []).entries()) {
    const itemPath = path.index(index);
    checkCommon(container, itemPath, pod);
    if (names.has(container.name)) problems.duplicate(itemPath.child("name"), container.name);
    else if (container.name !== "") names.add(container.name);
    checkHostPorts([container], path, problems);
    if (isSidecar(container)) {
      checkLongRunning(container, itemPath, timing(pod));
      continue;
    }
    for (const field of onlySidecars) {
      if (container[field] === undefined) continue;
      const detail = "may not be set for init containers without restartPolicy=Always";
      problems.forbidden(itemPath.child(field), detail);
    }
    if (container.resizePolicy === undefined || container.resizePolicy.length === 0) continue;
    const goResizePolicy = container.resizePolicy.map(({ resourceName, restartPolicy }) => ({
      ResourceName: resourceName,
      RestartPolicy: restartPolicy,
    }));
    problems.invalid(
      itemPath.child("resizePolicy"),
      goResizePolicy,
      "must not be set for init containers",
    );
  }
}

/** Fields forbidden in ephemeral containers, in the order of causes. */
const notEphemeral = [
  "ports",
  "resources",
  "resizePolicy",
  "restartPolicy",
  "restartPolicyRules",
  "livenessProbe",
  "readinessProbe",
  "startupProbe",
  "lifecycle",
] as const;

/** Whether a field has the zero value of its Go type; a pointer to an empty struct is not zero. */
function isZero(field: (typeof notEphemeral)[number], value: unknown): boolean {
  return field === "lifecycle" ? value === undefined : isEmpty(value);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === "object" && Object.values(value).every(isEmpty);
}

export function checkEphemeralContainers(path: Path, pod: Pod): void {
  const { spec, problems } = pod;
  const others = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const targets = new Set(others.map(({ name }) => name));
  const names = new Set(targets);
  for (const [index, container] of (spec.ephemeralContainers ?? []).entries()) {
    const itemPath = path.index(index);
    checkCommon(container, itemPath, pod);
    checkImageSpace(container, itemPath, problems);
    if (names.has(container.name)) problems.duplicate(itemPath.child("name"), container.name);
    names.add(container.name);
    const { targetContainerName: target } = container;
    if (target && !targets.has(target)) {
      problems.notFound(itemPath.child("targetContainerName"), target);
    }
    checkEphemeral(container, itemPath, problems);
  }
}

function checkEphemeral(container: EphemeralContainer, path: Path, problems: Problems): void {
  const detail = "cannot be set for an Ephemeral Container";
  for (const field of notEphemeral) {
    if (!isZero(field, container[field])) problems.forbidden(path.child(field), detail);
  }
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const itemPath = path.child("volumeMounts").index(index);
    for (const field of ["subPath", "subPathExpr"] as const) {
      if (mount[field]) problems.forbidden(itemPath.child(field), detail);
    }
  }
}

/** Rejects images with surrounding spaces; pod templates are not checked, as in Kubernetes. */
export function checkImageSpace({ image = "" }: Container, path: Path, problems: Problems): void {
  if (image.trim() === image) return;
  problems.invalid(path.child("image"), image, "must not have leading or trailing whitespace");
}

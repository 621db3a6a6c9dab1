import { deepEqual } from "#base";
import { type Domain, invalid, resolve } from "#meta";
import type { AdmissionAttributes } from "#registry";
import { Path, Problems } from "#schema";
import { isFor, type ObjectReader, refuse } from "../objects.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { baseline, type CheckedPod } from "./baseline.ts";
import { type PodSecurityDefaults, podSecurityIn, privilegedDefaults } from "./configuration.ts";
import { policyOf, type Standard, standardText } from "./policy.ts";
import { restricted } from "./restricted.ts";
import { type Violation, violationsText } from "./quoted.ts";

interface PodSecurityParts {
  readonly objects: ObjectReader;
  readonly domain: Domain;
  readonly defaults: PodSecurityDefaults;
}

/** A pod, or the template of one. */
interface Template {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: any;
}

/** Where kinds keep the template of their pods, by key prefix. */
const templates: Readonly<Record<string, (object: any) => Template | undefined>> = {
  "/podtemplates/": (object) => object.template,
  "/controllers/": (object) => object.spec.template,
  "/replicasets/": (object) => object.spec.template,
  "/deployments/": (object) => object.spec.template,
  "/statefulsets/": (object) => object.spec.template,
  "/daemonsets/": (object) => object.spec.template,
  "/jobs/": (object) => object.spec.template,
  "/cronjobs/": (object) => object.spec.jobTemplate?.spec?.template,
};

const podEndpoints = ["", "ephemeralcontainers"];

/**
 * Enforces the Pod Security Standards that the labels of the namespace name: refuses pods, warns of
 * pods and of workloads with pod templates, and validates the labels themselves.
 */
export const podSecurity: AdmissionPlugin<PodSecurityDefaults> = {
  name: "PodSecurity",
  enabled: "default",
  parseConfiguration: (value, { domain }) => podSecurityIn(value, domain),
  create({ objects, domain }, defaults = privilegedDefaults) {
    const parts = { objects, domain, defaults };
    return { validate: (attributes) => evaluate(parts, attributes) };
  },
};

function evaluate(
  parts: PodSecurityParts,
  attributes: AdmissionAttributes,
): Promise<readonly string[]> | undefined {
  const { request, operation, object } = attributes;
  if (operation !== "create" && operation !== "update") return undefined;
  const { keyPrefix } = request.resource;
  if (isFor(attributes, "", "namespaces")) return namespaceLabels(parts, attributes);
  if (keyPrefix === "/pods/" && podEndpoints.includes(request.subresource)) {
    const matters = operation === "create" || changesPod(attributes);
    return matters ? judge(parts, attributes, { pod: object, enforces: true }) : undefined;
  }
  if (request.subresource !== "" || !Object.hasOwn(templates, keyPrefix)) return undefined;
  const pod = templates[keyPrefix]?.(object);
  return pod?.spec === undefined ? undefined : judge(parts, attributes, { pod, enforces: false });
}

/** Whether an update changes a field that the checks look at; most update metadata or status only. */
function changesPod({ object, old }: AdmissionAttributes): boolean {
  const security = ({ metadata, spec }: any) => [metadata.annotations ?? {}, spec];
  return !deepEqual(security(object), security(old));
}

async function judge(
  { objects, domain, defaults }: PodSecurityParts,
  attributes: AdmissionAttributes,
  { pod, enforces }: { readonly pod: Template; readonly enforces: boolean },
): Promise<readonly string[]> {
  const { namespace, user, context, notes } = attributes.request;
  const key = (name: string): string => resolve(`pod-security.{label}/${name}`, domain);
  const { exempt } = defaults;
  const exemption = exempt.namespaces.has(namespace)
    ? "namespace"
    : exempt.users.has(user.name)
      ? "user"
      : exempt.runtimeClasses.has(pod.spec.runtimeClassName ?? "")
        ? "runtimeClass"
        : undefined;
  if (exemption !== undefined) {
    notes?.annotate(key("exempt"), exemption);
    return [];
  }
  const found = await objects.find({ group: "", plural: "namespaces" }, namespace, context);
  const { policy } = policyOf(found?.metadata.labels ?? {}, defaults.policy, domain);
  const told = (standard: Standard): string => violationsText(violations(pod, standard, domain));
  if (enforces) notes?.annotate(key("enforce-policy"), standardText(policy.enforce));
  const refused = enforces ? told(policy.enforce) : "";
  const recorded = told(policy.audit);
  if (recorded !== "") notes?.annotate(key("audit-violations"), would(policy.audit, recorded));
  if (refused !== "") {
    const standard = JSON.stringify(standardText(policy.enforce));
    throw refuse(attributes, `violates PodSecurity ${standard}: ${refused}`);
  }
  const warned = told(policy.warn);
  return warned === "" ? [] : [would(policy.warn, warned)];
}

function would(standard: Standard, violated: string): string {
  return `would violate PodSecurity ${JSON.stringify(standardText(standard))}: ${violated}`;
}

function violations(
  { metadata, spec }: Template,
  { level, minor }: Standard,
  domain: Domain,
): readonly Violation[] {
  if (level === "privileged") return [];
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec;
  const pod: CheckedPod = {
    spec,
    annotations: metadata?.annotations ?? {},
    containers: [...initContainers, ...containers, ...ephemeralContainers],
    domain,
    minor,
  };
  const checks = level === "baseline" ? baseline : restricted;
  return checks.flatMap((check) => check(pod) ?? []);
}

/** Refuses new invalid labels of a namespace, and warns of existing pods that violate a new level. */
async function namespaceLabels(
  parts: PodSecurityParts,
  attributes: AdmissionAttributes,
): Promise<readonly string[]> {
  const { object, old, request } = attributes;
  const { domain, defaults, objects } = parts;
  const read = (namespace: any) =>
    policyOf(namespace?.metadata.labels ?? {}, defaults.policy, domain);
  const { policy, faults } = read(object);
  const before = read(old);
  if (faults.length > 0 && !deepEqual(faults, before.faults)) {
    const problems = new Problems();
    for (const { key, value, detail } of faults) {
      problems.invalid(Path.of("metadata.labels").key(key), value, detail);
    }
    throw invalid({ group: "", kind: "Namespace" }, object.metadata.name, problems);
  }
  const { name } = object.metadata;
  const isSame = deepEqual(policy.enforce, before.policy.enforce);
  if (old === undefined || isSame || defaults.exempt.namespaces.has(name)) return [];
  const pods = await objects.list({ group: "", plural: "pods", namespace: name }, request.context);
  return existingPods(name, pods, { standard: policy.enforce, domain });
}

/** Existing pods checked on a change of the level, as in Kubernetes. */
const mostPods = 3000;

function existingPods(
  namespace: string,
  pods: readonly any[],
  { standard, domain }: { readonly standard: Standard; readonly domain: Domain },
): readonly string[] {
  const byViolation = new Map<string, string[]>();
  for (const pod of pods.slice(0, mostPods)) {
    const found = violations(pod, standard, domain);
    if (found.length === 0) continue;
    const reasons = found.map(({ reason }) => reason).join(", ");
    byViolation.set(reasons, [...(byViolation.get(reasons) ?? []), pod.metadata.name]);
  }
  if (byViolation.size === 0) return [];
  const level = JSON.stringify(standardText(standard));
  const lines = Array.from(byViolation, ([reasons, names]) => {
    const [first = "", ...others] = names.sort();
    const count = others.length;
    const more = count === 0 ? "" : ` (and ${count} other ${count === 1 ? "pod" : "pods"})`;
    return `${first}${more}: ${reasons}`;
  });
  const where = `existing pods in namespace ${JSON.stringify(namespace)}`;
  return [`${where} violate the new PodSecurity enforce level ${level}`, ...lines.sort()];
}

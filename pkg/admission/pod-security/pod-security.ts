import { deepEqual, memoize } from "#base";
import { type Domain, goQuote, invalid, resolve } from "#meta";
import type { AdmissionAttributes } from "#registry";
import { Path, Problems } from "#schema";
import { isFor, type ObjectReader, forbiddenRequest } from "../objects.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { type PodSecurityDefaults, podSecurityIn, privilegedDefaults } from "./configuration.ts";
import { existingPods } from "./existing-pods.ts";
import {
  compareLevels,
  isPrivileged,
  labelOf,
  type Labels,
  type NamespacePolicy,
  policyOf,
  type Standard,
  standardText,
} from "./policy.ts";
import { violationsText } from "./quoted.ts";
import { type Template, violations } from "./violations.ts";

interface PodSecurityParts {
  readonly objects: ObjectReader;
  readonly domain: Domain;
  readonly defaults: PodSecurityDefaults;
  /** Gate UserNamespacesPodSecurityStandards. */
  readonly relaxesUserNamespaces: boolean;
  /** Policy of a stored namespace; cached per (immutable) labels object. */
  readonly policyOfLabels: (labels: Labels) => ReturnType<typeof policyOf>;
}

const noLabels: Labels = {};

/** Pod template of workloads, by key prefix. */
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

/** Subresources of pods that cannot change the spec; others are evaluated. */
const ignoredSubresources = "exec attach binding eviction log portforward proxy status".split(" ");

/**
 * Enforces Pod Security Standards by namespace labels: rejects pods, warns about pods and workloads with pod
 * templates, and validates the labels.
 */
export const podSecurity: AdmissionPlugin<PodSecurityDefaults> = {
  name: "PodSecurity",
  enabled: "default",
  parseConfiguration: (value, { domain }) => podSecurityIn(value, domain),
  create({ objects, domain, gates }, defaults = privilegedDefaults) {
    const relaxesUserNamespaces = gates("UserNamespacesPodSecurityStandards");
    const policyOfLabels = memoize((labels: Labels) => policyOf(labels, defaults.policy, domain));
    const parts = { objects, domain, defaults, relaxesUserNamespaces, policyOfLabels };
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
  if (keyPrefix === "/pods/") {
    if (ignoredSubresources.includes(request.subresource)) return undefined;
    const isRelevant = operation === "create" || changesImages(attributes);
    return isRelevant ? judge(parts, attributes, { pod: object, enforces: true }) : undefined;
  }
  if (request.subresource !== "" || !Object.hasOwn(templates, keyPrefix)) return undefined;
  const pod = templates[keyPrefix]?.(object);
  return !pod?.spec ? undefined : judge(parts, attributes, { pod, enforces: false });
}

/**
 * Whether an update adds or removes a container or changes an image. Other updates are not evaluated, so that
 * pods created before the policy can still be labeled and resized.
 */
function changesImages({ object, old }: AdmissionAttributes): boolean {
  const images = (pod: any, field: string): readonly string[] =>
    (pod.spec[field] ?? []).map(({ image }: any) => image);
  const changes = ["containers", "initContainers"].some(
    (field) => !deepEqual(images(object, field), images(old, field)),
  );
  if (changes) return true;
  const before: readonly any[] = old.spec.ephemeralContainers ?? [];
  const now: readonly any[] = object.spec.ephemeralContainers ?? [];
  return now.some(({ name, image }) => before.find((each) => each.name === name)?.image !== image);
}

async function judge(
  parts: PodSecurityParts,
  attributes: AdmissionAttributes,
  { pod, enforces }: { readonly pod: Template; readonly enforces: boolean },
): Promise<readonly string[]> {
  const { objects, domain, defaults } = parts;
  const { namespace, user, context, notes } = attributes.request;
  const note = (name: string, value: string): void =>
    notes?.annotate(resolve(`pod-security.{label}/${name}`, domain), value);
  const exemption = exemptionOf(defaults, { namespace, user: user.name, spec: pod.spec });
  if (exemption !== undefined) {
    note("exempt", exemption);
    return [];
  }
  const found = await objects.find({ group: "", plural: "namespaces" }, namespace, context);
  const { policy, faults } = parts.policyOfLabels(found?.metadata.labels ?? noLabels);
  if (faults.length > 0) {
    const problems = faults.map(
      ({ key, value, detail }) =>
        `metadata.labels[${key}]: Invalid value: ${goQuote(value)}: ${detail}`,
    );
    const [first = ""] = problems;
    const text = problems.length === 1 ? first : `[${problems.join(", ")}]`;
    note("error", `Failed to parse policy: ${text}`);
  }
  const check = (standard: Standard): string => violationsText(violations(pod, standard, parts));
  if (enforces) note("enforce-policy", standardText(policy.enforce));
  const refused = enforces ? check(policy.enforce) : "";
  const recorded = check(policy.audit);
  if (recorded !== "") note("audit-violations", would(policy.audit, recorded));
  if (refused !== "") {
    const standard = JSON.stringify(standardText(policy.enforce));
    throw forbiddenRequest(attributes, `violates PodSecurity ${standard}: ${refused}`);
  }
  const warned = check(policy.warn);
  return warned === "" ? [] : [would(policy.warn, warned)];
}

function exemptionOf(
  { exempt }: PodSecurityDefaults,
  { namespace, user, spec }: { namespace: string; user: string; spec: any },
): string | undefined {
  if (exempt.namespaces.has(namespace)) return "namespace";
  if (exempt.users.has(user)) return "user";
  return exempt.runtimeClasses.has(spec.runtimeClassName ?? "") ? "runtimeClass" : undefined;
}

function would(standard: Standard, violated: string): string {
  return `would violate PodSecurity ${JSON.stringify(standardText(standard))}: ${violated}`;
}

/** Rejects new invalid labels of a namespace, and warns about existing pods that violate a new level. */
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
  if (old === undefined || isRelaxed(policy.enforce, before.policy.enforce)) return [];
  const { name, labels = {} } = object.metadata;
  if (defaults.exempt.namespaces.has(name)) return exemptWarnings(parts, { name, labels, policy });
  const pods = await objects.list({ group: "", plural: "pods", namespace: name }, request.context);
  const { runtimeClasses } = defaults.exempt;
  const checked = pods.filter(({ spec }) => !runtimeClasses.has(spec.runtimeClassName ?? ""));
  return existingPods(name, checked, { ...parts, standard: policy.enforce });
}

/** Whether the new standard is not stricter than the old one. */
function isRelaxed(now: Standard, before: Standard): boolean {
  if (now.level === "privileged") return true;
  return now.minor === before.minor && compareLevels(now, before) <= 0;
}

/** Warnings that labels of an exempt namespace have no effect. */
function exemptWarnings(
  { domain, defaults }: PodSecurityParts,
  {
    name,
    labels,
    policy,
  }: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly policy: NamespacePolicy;
  },
): readonly string[] {
  const modes = ["enforce", "audit", "warn"] as const;
  const isDefault = modes.every(
    (mode) =>
      (policy[mode].level === "privileged" && defaults.policy[mode].level === "privileged") ||
      deepEqual(policy[mode], defaults.policy[mode]),
  );
  if (isPrivileged(policy) || isDefault) return [];
  const texts = modes
    .filter((mode) => {
      const keys = [labelOf(mode, domain), labelOf(`${mode}-version`, domain)];
      return policy[mode].level !== "privileged" && keys.some((key) => Object.hasOwn(labels, key));
    })
    .map((mode) => `${mode}=${standardText(policy[mode])}`);
  const ignored = `and the policy (${texts.join(", ")}) will be ignored`;
  return [`namespace ${goQuote(name)} is exempt from Pod Security, ${ignored}`];
}

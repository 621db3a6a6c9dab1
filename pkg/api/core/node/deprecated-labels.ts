/** Warnings about deprecated node labels in objects that select nodes. */
import type { Path } from "#schema";
import { append } from "#base";
import { type HookContext, isLabelValue, resolve } from "#meta";
import type { LabelSelector } from "../../label-selector.ts";

type Domain = HookContext["domain"];

/** Deprecated label -> warning. */
const deprecatedLabels: Readonly<Record<string, string>> = {
  "beta.{label}/arch": renamed("v1.14", "{label}/arch"),
  "beta.{label}/os": renamed("v1.14", "{label}/os"),
  "failure-domain.beta.{label}/region": renamed("v1.17", "topology.{label}/region"),
  "failure-domain.beta.{label}/zone": renamed("v1.17", "topology.{label}/zone"),
  "beta.{label}/instance-type": renamed("v1.17", "node.{label}/instance-type"),
  "app.{label}/created-by": "deprecated since v1.9",
  "scheduler.alpha.{label}/preferAvoidPods":
    "deprecated since v1.22; use Taints and Tolerations instead",
  "node-role.{label}/master": `use "node-role.{label}/control-plane" instead`,
};

function renamed(since: string, name: string): string {
  return `deprecated since ${since}; use "${name}" instead`;
}

/** Warning about a deprecated node label; undefined for any other label. */
export function labelDeprecation(label: string, domain: Domain): string | undefined {
  for (const [deprecated, message] of Object.entries(deprecatedLabels)) {
    if (resolve(deprecated, domain) === label) return resolve(message, domain);
  }
  return undefined;
}

interface NodeSelectorTerm {
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly values?: readonly string[];
  }[];
}

/**
 * Warnings about the keys of a term and, if `checkValues`, about values that are no label values.
 */
export function nodeSelectorTermWarnings(
  { matchExpressions }: NodeSelectorTerm,
  path: Path,
  { domain, checkValues }: { readonly domain: Domain; readonly checkValues: boolean },
): readonly string[] {
  const warnings: string[] = [];
  for (const [index, { key, values = [] }] of (matchExpressions ?? []).entries()) {
    const itemPath = path.child("matchExpressions").index(index);
    append(warnings, expressionWarning(key, itemPath, domain));
    if (!checkValues) continue;
    for (const [at, value] of values.entries()) {
      const valuePath = itemPath.child("values").index(at);
      for (const message of isLabelValue(value)) {
        warnings.push(`${valuePath}: ${value} is invalid, ${message}`);
      }
    }
  }
  return warnings;
}

/** Warnings about a label selector that selects nodes. */
export function nodeLabelSelectorWarnings(
  selector: LabelSelector | undefined,
  path: Path,
  domain: Domain,
): readonly string[] {
  const { matchExpressions = [], matchLabels = {} } = selector ?? {};
  const ofExpressions = matchExpressions.flatMap(({ key }, index) =>
    expressionWarning(key, path.child("matchExpressions").index(index), domain),
  );
  return [...ofExpressions, ...labelKeyWarnings(matchLabels, path.child("matchLabels"), domain)];
}

function labelKeyWarnings(labels: Readonly<Record<string, string>>, path: Path, domain: Domain) {
  return Object.keys(labels)
    .sort()
    .flatMap((label) => {
      const message = labelDeprecation(label, domain);
      return message === undefined ? [] : [`${path.child(label)}: ${message}`];
    });
}

function expressionWarning(key: string, path: Path, domain: Domain): readonly string[] {
  const message = labelDeprecation(key, domain);
  return message === undefined ? [] : [`${path.child("key")}: ${key} is ${message}`];
}

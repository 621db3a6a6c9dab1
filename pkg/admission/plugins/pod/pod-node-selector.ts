import { assign } from "#base";
import { checkLabels, forbidden, plainFailure } from "#meta";
import type { AdmissionAttributes } from "#registry";
import { Path, Problems } from "#schema";
import { known, recordOf } from "../../configuration/fields.ts";
import { isFor, type ObjectReader } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";

/** Whitelisted node selector by namespace; `clusterDefaultNodeSelector` is the default selector. */
type NodeSelectors = ReadonlyMap<string, string>;

type Labels = Readonly<Record<string, string>>;

const clusterDefault = "clusterDefaultNodeSelector";

/** @throws AdmissionConfigurationFault */
function nodeSelectorsIn(value: unknown): NodeSelectors {
  const fields = recordOf(value, "PodNodeSelector");
  const key = "podNodeSelectorPluginConfig";
  known(fields, [key], "PodNodeSelector");
  const selectors = Object.entries(recordOf(fields[key] ?? {}, key));
  return new Map(selectors.map(([name, selector]) => [name, String(selector ?? "")]));
}

interface NodeSelectorParts {
  readonly objects: ObjectReader;
  readonly selectors: NodeSelectors;
}

/**
 * Merges the namespace's node selector (annotation, else configuration) into a new pod, and rejects pods
 * whose selector conflicts with it or with the namespace's whitelist.
 */
export const podNodeSelector: AdmissionPlugin<NodeSelectors> = {
  name: "PodNodeSelector",
  enabled: "optional",
  resources: ["pods"],
  parseConfiguration: nodeSelectorsIn,
  create({ objects }, selectors = new Map()) {
    const parts = { objects, selectors };
    return {
      mutate: (attributes) =>
        isNewPod(attributes) ? mergeSelectors(parts, attributes) : undefined,
      validate: (attributes) =>
        isNewPod(attributes) ? checkSelectors(parts, attributes) : undefined,
    };
  },
};

async function mergeSelectors(
  parts: NodeSelectorParts,
  attributes: AdmissionAttributes,
): Promise<readonly string[]> {
  const { spec } = attributes.object;
  const wanted = await namespaceSelector(parts, attributes);
  const both = Object.create(null) as Record<string, string>;
  for (const [name, text] of Object.entries({ ...wanted, ...spec.nodeSelector })) {
    assign(both, name, text);
  }
  if (Object.keys(both).length > 0) spec.nodeSelector = both;
  checkWhitelist(parts, attributes);
  return [];
}

async function checkSelectors(
  parts: NodeSelectorParts,
  attributes: AdmissionAttributes,
): Promise<readonly string[]> {
  await namespaceSelector(parts, attributes);
  checkWhitelist(parts, attributes);
  return [];
}

function isNewPod(attributes: AdmissionAttributes): boolean {
  return isFor(attributes, "", "pods") && attributes.operation === "create";
}

/** Node selector of the namespace. @throws 403 if the pod's selector conflicts with it */
async function namespaceSelector(
  parts: NodeSelectorParts,
  attributes: AdmissionAttributes,
): Promise<Labels> {
  const { objects, selectors } = parts;
  const { request, object } = attributes;
  const key = "scheduler.alpha.{label}/node-selector";
  const named = await objects.annotationOfNamespace(request, key);
  const wanted = labelsOf(named ?? selectors.get(clusterDefault) ?? "");
  const own: Labels = object.spec.nodeSelector ?? {};
  const disagree = Object.entries(wanted).some(
    ([name, value]) => Object.hasOwn(own, name) && own[name] !== value,
  );
  if (!disagree) return wanted;
  throw refuse(
    attributes,
    "pod node label selector conflicts with its namespace node label selector",
  );
}

function checkWhitelist({ selectors }: NodeSelectorParts, attributes: AdmissionAttributes): void {
  const allowed = labelsOf(selectors.get(attributes.request.namespace) ?? "");
  if (Object.keys(allowed).length === 0) return;
  const own: Labels = attributes.object.spec.nodeSelector ?? {};
  const isWithin = Object.entries(own).every(
    ([name, value]) => Object.hasOwn(allowed, name) && allowed[name] === value,
  );
  if (isWithin) return;
  throw refuse(attributes, "pod node label selector labels conflict with its namespace whitelist");
}

function refuse({ request, object }: AdmissionAttributes, why: string): Error {
  return forbidden(request.resource, object.metadata.name ?? "", why);
}

/** Parses `a=b,c=d`. @throws StatusError */
function labelsOf(text: string): Labels {
  const labels = Object.create(null) as Record<string, string>;
  if (text === "") return labels;
  for (const part of text.split(",")) {
    const words = part.split("=");
    const [name = "", value = ""] = words;
    if (words.length !== 2) throw plainFailure(`invalid selector: [${words.join(" ")}]`);
    assign(labels, name.trim(), value.trim());
  }
  const problems = new Problems();
  checkLabels(labels, Path.of("nodeSelector"), problems);
  const [problem] = problems.list;
  if (problem !== undefined) throw plainFailure(problem.detail);
  return labels;
}

/** Pods of a namespace run on the nodes that are meant for it (PodNodeSelector). */
import { assign } from "#base";
import { checkLabels, forbidden, plainFailure } from "#meta";
import type { AdmissionAttributes, AdmissionHandler } from "#registry";
import { Path, Problems } from "#schema";
import { known, recordOf } from "../../configuration/fields.ts";
import { isFor, type ObjectReader } from "../../objects.ts";

/** By namespace, what its pods may select; `clusterDefaultNodeSelector` is for all others. */
export type NodeSelectors = ReadonlyMap<string, string>;

type Labels = Readonly<Record<string, string>>;

const usual = "clusterDefaultNodeSelector";

/** @throws AdmissionConfigurationFault */
export function nodeSelectorsIn(value: unknown): NodeSelectors {
  const fields = recordOf(value, "PodNodeSelector");
  const key = "podNodeSelectorPluginConfig";
  known(fields, [key], "PodNodeSelector");
  const selectors = Object.entries(recordOf(fields[key] ?? {}, key));
  return new Map(selectors.map(([name, selector]) => [name, String(selector ?? "")]));
}

export interface NodeSelectorParts {
  readonly objects: ObjectReader;
  readonly selectors: NodeSelectors;
}

/** What the namespace asks for is added to what the pod asks for. */
export function selectNodes(parts: NodeSelectorParts): AdmissionHandler {
  return async (attributes) => {
    if (!isNewPod(attributes)) return [];
    const { spec } = attributes.object;
    const wanted = await agreed(parts, attributes);
    const both = Object.create(null) as Record<string, string>;
    for (const [name, text] of Object.entries({ ...wanted, ...spec.nodeSelector })) {
      assign(both, name, text);
    }
    if (Object.keys(both).length > 0) spec.nodeSelector = both;
    refuseOthers(parts, attributes);
    return [];
  };
}

/** The same once all others have had their say. */
export function selectedNodes(parts: NodeSelectorParts): AdmissionHandler {
  return async (attributes) => {
    if (!isNewPod(attributes)) return [];
    await agreed(parts, attributes);
    refuseOthers(parts, attributes);
    return [];
  };
}

function isNewPod(attributes: AdmissionAttributes): boolean {
  return isFor(attributes, "", "pods") && attributes.operation === "create";
}

/** The selector of the namespace, which does not contradict that of the pod. */
async function agreed(parts: NodeSelectorParts, attributes: AdmissionAttributes): Promise<Labels> {
  const { objects, selectors } = parts;
  const { request, object } = attributes;
  const key = "scheduler.alpha.{label}/node-selector";
  const named = await objects.annotationOfNamespace(request, key);
  const wanted = labelsOf(named ?? selectors.get(usual) ?? "");
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

function refuseOthers({ selectors }: NodeSelectorParts, attributes: AdmissionAttributes): void {
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

/** `a=b,c=d`. @throws StatusError where it is nothing of the kind */
function labelsOf(text: string): Labels {
  const labels = Object.create(null) as Record<string, string>;
  if (text === "") return labels;
  for (const part of text.split(",")) {
    const [name = "", value, ...more] = part.split("=");
    if (value === undefined || more.length > 0) throw plainFailure(`invalid selector: ${part}`);
    assign(labels, name.trim(), value.trim());
  }
  const problems = new Problems();
  checkLabels(labels, Path.of("nodeSelector"), problems);
  const [problem] = problems.list;
  if (problem !== undefined) throw plainFailure(problem.detail);
  return labels;
}

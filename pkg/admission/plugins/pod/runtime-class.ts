import { Quantity } from "#meta";
import type { AdmissionAttributes, AdmissionHandler } from "#registry";
import { isFor, type ObjectReader, refuse } from "../../objects.ts";
import { mergeTolerations } from "./default-toleration-seconds.ts";

/** Pods get the overhead of their runtime class, and go where it is at home. */

type Amounts = Readonly<Record<string, string>>;

const classes = { group: "node.{api}", plural: "runtimeclasses" };
const mismatch = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

export function runtimeClassOfPods(objects: ObjectReader): AdmissionHandler {
  return async (attributes) => {
    if (!isFor(attributes, "", "pods") || attributes.operation !== "create") return [];
    const found = await classOf(objects, attributes);
    if (found === undefined) return [];
    setOverhead(attributes, found);
    setScheduling(attributes, found);
    return [];
  };
}

/** The overhead that a pod has is that of its class, whatever other plugins did to it. */
export function runtimeOverhead(objects: ObjectReader): AdmissionHandler {
  return async (attributes) => {
    if (!isFor(attributes, "", "pods") || attributes.operation !== "create") return [];
    const { overhead } = attributes.object.spec;
    const found = await classOf(objects, attributes);
    const fixed: Amounts | undefined = found?.overhead && (found.overhead.podFixed ?? {});
    if (fixed === undefined) {
      if (overhead === undefined) return [];
      const without = "without corresponding RuntimeClass defined Overhead";
      throw refuse(attributes, `pod rejected: Pod Overhead set ${without}`);
    }
    if (!sameAmounts(fixed, overhead ?? {})) throw refuse(attributes, mismatch);
    return [];
  };
}

async function classOf(objects: ObjectReader, attributes: AdmissionAttributes): Promise<any> {
  const { request, object } = attributes;
  const name: string | undefined = object.spec.runtimeClassName;
  if (name === undefined) return undefined;
  const found = await objects.find(classes, name, request.context);
  if (found !== undefined) return found;
  throw refuse(attributes, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
}

function setOverhead(attributes: AdmissionAttributes, { overhead }: any): void {
  const { spec } = attributes.object;
  if (overhead === undefined) return;
  const fixed: Amounts = overhead.podFixed ?? {};
  if (spec.overhead !== undefined && !sameAmounts(fixed, spec.overhead)) {
    throw refuse(attributes, mismatch);
  }
  spec.overhead = { ...fixed };
}

function setScheduling(attributes: AdmissionAttributes, { scheduling }: any): void {
  if (scheduling === undefined) return;
  const { spec } = attributes.object;
  const required: Readonly<Record<string, string>> = scheduling.nodeSelector ?? {};
  const own: Readonly<Record<string, string>> = spec.nodeSelector ?? {};
  for (const [key, value] of Object.entries(required)) {
    if (!Object.hasOwn(own, key) || own[key] === value) continue;
    const theirs = `runtimeClass.scheduling.nodeSelector[${key}] = ${value}`;
    throw refuse(attributes, `conflict: ${theirs}; pod.spec.nodeSelector[${key}] = ${own[key]}`);
  }
  if (Object.keys(required).length > 0) {
    const both = { __proto__: null, ...own, ...required };
    spec.nodeSelector = both;
  }
  const tolerations = mergeTolerations(spec.tolerations ?? [], scheduling.tolerations ?? []);
  if (tolerations.length > 0) spec.tolerations = tolerations;
}

function sameAmounts(left: Amounts, right: Amounts): boolean {
  const names = Object.keys(left);
  if (names.length !== Object.keys(right).length) return false;
  return names.every((name) => {
    const other = Object.hasOwn(right, name) ? right[name] : undefined;
    return other !== undefined && Quantity.parse(left[name]!).equals(Quantity.parse(other));
  });
}

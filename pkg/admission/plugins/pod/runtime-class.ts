import { Quantity } from "#meta";
import type { AdmissionAttributes } from "#registry";
import { isFor, type ObjectReader, forbiddenRequest } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import { mergeTolerations } from "./tolerations.ts";

type Amounts = Readonly<Record<string, string>>;

const classes = { group: "node.{api}", plural: "runtimeclasses" };
const mismatch = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

/**
 * Sets overhead, node selector and tolerations of a new pod from its RuntimeClass. The validating phase
 * rejects an overhead that differs from the class.
 */
export const runtimeClass: AdmissionPlugin = {
  name: "RuntimeClass",
  enabled: "default",
  resources: ["pods"],
  create({ objects }) {
    const setFields = async (attributes: AdmissionAttributes): Promise<readonly string[]> => {
      const found = await classOf(objects, attributes);
      setOverhead(attributes, found);
      setScheduling(attributes, found);
      return [];
    };
    return {
      mutate: (attributes) =>
        isNewPod(attributes) && namesClass(attributes) ? setFields(attributes) : undefined,
      validate: (attributes) => {
        if (!isNewPod(attributes)) return undefined;
        if (namesClass(attributes)) return checkOverhead(objects, attributes);
        if (attributes.object.spec.overhead !== undefined) throw unexpectedOverhead(attributes);
        return undefined;
      },
    };
  },
};

function isNewPod(attributes: AdmissionAttributes): boolean {
  return isFor(attributes, "", "pods") && attributes.operation === "create";
}

function namesClass({ object }: AdmissionAttributes): boolean {
  return object.spec.runtimeClassName !== undefined;
}

async function checkOverhead(
  objects: ObjectReader,
  attributes: AdmissionAttributes,
): Promise<readonly string[]> {
  const { overhead } = attributes.object.spec;
  const found = await classOf(objects, attributes);
  const fixed: Amounts | undefined = found.overhead && (found.overhead.podFixed ?? {});
  if (fixed === undefined) {
    if (overhead === undefined) return [];
    throw unexpectedOverhead(attributes);
  }
  if (!sameAmounts(fixed, overhead ?? {})) throw forbiddenRequest(attributes, mismatch);
  return [];
}

function unexpectedOverhead(attributes: AdmissionAttributes): Error {
  const without = "without corresponding RuntimeClass defined Overhead";
  return forbiddenRequest(attributes, `pod rejected: Pod Overhead set ${without}`);
}

/** RuntimeClass of a pod. @throws 403 if it does not exist */
async function classOf(objects: ObjectReader, attributes: AdmissionAttributes): Promise<any> {
  const { request, object } = attributes;
  const name: string = object.spec.runtimeClassName;
  const found = await objects.find(classes, name, request.context);
  if (found !== undefined) return found;
  throw forbiddenRequest(
    attributes,
    `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`,
  );
}

function setOverhead(attributes: AdmissionAttributes, { overhead }: any): void {
  const { spec } = attributes.object;
  if (overhead === undefined) return;
  const fixed: Amounts = overhead.podFixed ?? {};
  const own: Amounts = spec.overhead ?? {};
  if (Object.keys(own).length > 0 && !sameAmounts(fixed, own)) {
    throw forbiddenRequest(attributes, mismatch);
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
    throw forbiddenRequest(
      attributes,
      `conflict: ${theirs}; pod.spec.nodeSelector[${key}] = ${own[key]}`,
    );
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

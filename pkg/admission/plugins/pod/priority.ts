import type { AdmissionAttributes, RequestContext } from "#registry";
import { isFor, type ObjectReader, forbiddenRequest } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";

const group = "scheduling.{api}";
const classes = { group, plural: "priorityclasses" };
const usualPolicy = "PreemptLowerPriority";
const systemClasses = ["system-cluster-critical", "system-node-critical"];

/**
 * Sets priority and preemption policy of a new pod from its PriorityClass, and preserves them in updates that
 * omit them. Rejects a second global default PriorityClass, and the deletion of system classes.
 */
export const priority: AdmissionPlugin = {
  name: "Priority",
  enabled: "default",
  resources: ["pods", "priorityclasses"],
  create: ({ objects }) => ({
    mutate: (attributes) => {
      if (!isFor(attributes, "", "pods")) return undefined;
      if (attributes.operation === "create") return setPriority(objects, attributes);
      if (attributes.operation === "update") keepPriority(attributes);
      return undefined;
    },
    validate: (attributes) =>
      isFor(attributes, group, "priorityclasses") ? checkClass(objects, attributes) : undefined,
  }),
};

/** Preserves the fields in updates of old clients, which omit them. */
function keepPriority({ object, old }: AdmissionAttributes): void {
  if (old.spec.priority !== undefined) object.spec.priority ??= old.spec.priority;
  if (old.spec.preemptionPolicy !== undefined) {
    object.spec.preemptionPolicy ??= old.spec.preemptionPolicy;
  }
}

async function setPriority(
  objects: ObjectReader,
  attributes: AdmissionAttributes,
): Promise<readonly string[]> {
  const { spec } = attributes.object;
  const found = await classOf(objects, attributes);
  if (found !== undefined) spec.priorityClassName = found.metadata.name;
  const value: number = found?.value ?? 0;
  const policy: string = found?.preemptionPolicy ?? usualPolicy;
  const computed = "must not be provided in pod spec; priority admission controller computed";
  if (spec.priority !== undefined && spec.priority !== value) {
    const given = `the integer value of priority (${spec.priority})`;
    throw forbiddenRequest(
      attributes,
      `${given} ${computed} ${value} from the given PriorityClass name`,
    );
  }
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy) {
    const given = `the string value of PreemptionPolicy (${spec.preemptionPolicy})`;
    throw forbiddenRequest(
      attributes,
      `${given} ${computed} ${policy} from the given PriorityClass name`,
    );
  }
  spec.priority = value;
  spec.preemptionPolicy = policy;
  return [];
}

/** PriorityClass of the pod, or the global default; undefined = none. */
async function classOf(objects: ObjectReader, attributes: AdmissionAttributes): Promise<any> {
  const { request, object } = attributes;
  const name: string = object.spec.priorityClassName ?? "";
  if (name === "") return defaultClass(objects, request.context);
  const found = await objects.find(classes, name, request.context);
  if (found !== undefined) return found;
  throw forbiddenRequest(attributes, `no PriorityClass with name ${name} was found`);
}

/** Global default PriorityClass, of several the one with the lowest value; undefined = none. */
async function defaultClass(objects: ObjectReader, life: RequestContext): Promise<any> {
  const all = await objects.list(classes, life);
  const [lowest] = all
    .filter(({ globalDefault }) => globalDefault)
    .sort((left, right) => left.value - right.value);
  return lowest;
}

function checkClass(
  objects: ObjectReader,
  attributes: AdmissionAttributes,
): Promise<readonly string[]> | undefined {
  const { request, object, operation } = attributes;
  if (operation === "delete") {
    if (!systemClasses.includes(request.name)) return undefined;
    throw forbiddenRequest(attributes, "this is a system priority class and cannot be deleted");
  }
  return object.globalDefault ? checkOnlyDefault(objects, attributes) : undefined;
}

async function checkOnlyDefault(
  objects: ObjectReader,
  attributes: AdmissionAttributes,
): Promise<readonly string[]> {
  const { request, object, operation } = attributes;
  const other = await defaultClass(objects, request.context);
  if (other === undefined) return [];
  const { name } = other.metadata;
  if (operation === "update" && name === object.metadata.name) return [];
  const already = `PriorityClass ${name} is already marked as default`;
  throw forbiddenRequest(attributes, `${already}. Only one default can exist`);
}

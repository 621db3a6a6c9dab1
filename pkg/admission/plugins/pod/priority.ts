import type { AdmissionAttributes, AdmissionHandler, RequestContext } from "#registry";
import { isFor, type ObjectReader, refuse } from "../../objects.ts";

/** Pods get the number that their priority class stands for. */

const group = "scheduling.{api}";
const classes = { group, plural: "priorityclasses" };
const usualPolicy = "PreemptLowerPriority";
const systemClasses = ["system-cluster-critical", "system-node-critical"];

export function priorityOfPods(objects: ObjectReader): AdmissionHandler {
  return async (attributes) => {
    if (!isFor(attributes, "", "pods") || attributes.operation === "delete") return [];
    if (attributes.operation === "update") keepPriority(attributes);
    else await givePriority(objects, attributes);
    return [];
  };
}

/** Clients that do not know the fields do not send them back. */
function keepPriority({ object, old }: AdmissionAttributes): void {
  if (old.spec.priority !== undefined) object.spec.priority ??= old.spec.priority;
  if (old.spec.preemptionPolicy !== undefined) {
    object.spec.preemptionPolicy ??= old.spec.preemptionPolicy;
  }
}

async function givePriority(objects: ObjectReader, attributes: AdmissionAttributes): Promise<void> {
  const { spec } = attributes.object;
  const found = await classOf(objects, attributes);
  if (found !== undefined) spec.priorityClassName = found.metadata.name;
  const value: number = found?.value ?? 0;
  const policy: string = found?.preemptionPolicy ?? usualPolicy;
  const computed = "must not be provided in pod spec; priority admission controller computed";
  if (spec.priority !== undefined && spec.priority !== value) {
    const given = `the integer value of priority (${spec.priority})`;
    throw refuse(attributes, `${given} ${computed} ${value} from the given PriorityClass name`);
  }
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy) {
    const given = `the string value of PreemptionPolicy (${spec.preemptionPolicy})`;
    throw refuse(attributes, `${given} ${computed} ${policy} from the given PriorityClass name`);
  }
  spec.priority = value;
  spec.preemptionPolicy = policy;
}

/** The class that the pod names, or the default one; undefined where there is no default. */
async function classOf(objects: ObjectReader, attributes: AdmissionAttributes): Promise<any> {
  const { request, object } = attributes;
  const name: string = object.spec.priorityClassName ?? "";
  if (name === "") return defaultClass(objects, request.context);
  const found = await objects.find(classes, name, request.context);
  if (found !== undefined) return found;
  throw refuse(attributes, `no PriorityClass with name ${name} was found`);
}

/** Should there be several, the lowest counts. */
async function defaultClass(objects: ObjectReader, life: RequestContext): Promise<any> {
  const all = await objects.list(classes, life);
  const [lowest] = all
    .filter(({ globalDefault }) => globalDefault)
    .sort((left, right) => left.value - right.value);
  return lowest;
}

/** One class at most is the default, and the built-in ones stay. */
export function onePriorityDefault(objects: ObjectReader): AdmissionHandler {
  return async (attributes) => {
    const { request, object, operation } = attributes;
    if (!isFor(attributes, group, "priorityclasses")) return [];
    if (operation === "delete") {
      if (!systemClasses.includes(request.name)) return [];
      throw refuse(attributes, "this is a system priority class and cannot be deleted");
    }
    if (!object.globalDefault) return [];
    const other = await defaultClass(objects, request.context);
    if (other === undefined) return [];
    const { name } = other.metadata;
    if (operation === "update" && name === object.metadata.name) return [];
    const already = `PriorityClass ${name} is already marked as default`;
    throw refuse(attributes, `${already}. Only one default can exist`);
  };
}

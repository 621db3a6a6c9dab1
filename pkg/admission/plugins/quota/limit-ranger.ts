import { resolve, type Domain } from "#meta";
import { type Amounts, podTotal } from "#quota";
import type { AdmissionAttributes, AdmissionHandler } from "#registry";
import { isFor, type ObjectReader, refuse } from "../../objects.ts";
import { checkLimits } from "./limit-range-checks.ts";

/**
 * Limit ranges of a namespace: what containers get that say nothing, and what nobody may exceed.
 */

interface Limit {
  readonly type: string;
  readonly default?: Amounts;
  readonly defaultRequest?: Amounts;
}

/** Gives containers the defaults of all limit ranges, and notes on the pod what it got. */
export function limitDefaults(objects: ObjectReader, domain: Domain): AdmissionHandler {
  const note = resolve("{label}/limit-ranger", domain);
  return async (attributes) => {
    const isNewPod = isFor(attributes, "", "pods") && attributes.operation === "create";
    if (!isNewPod && !isResize(attributes)) return [];
    const { metadata, spec } = attributes.object;
    for (const range of await rangesOf(objects, attributes)) {
      const set = giveDefaults(spec, range.spec.limits ?? []);
      if (set.length === 0) continue;
      const text = `LimitRanger plugin set: ${set.join("; ")}`;
      const all = { __proto__: null, ...metadata.annotations, [note]: text };
      metadata.annotations = all;
    }
    return [];
  };
}

export function limitChecks(objects: ObjectReader): AdmissionHandler {
  return async (attributes) => {
    const { operation, object } = attributes;
    const isPod = isFor(attributes, "", "pods") && operation === "create";
    const isClaim = isFor(attributes, "", "persistentvolumeclaims") && operation !== "delete";
    if (!isPod && !isClaim && !isResize(attributes)) return [];
    if (attributes.old?.metadata.deletionTimestamp) return [];
    for (const range of await rangesOf(objects, attributes)) {
      const faults = (range.spec.limits ?? []).flatMap((limit: any) =>
        isClaim ? claimFaults(limit, object.spec) : podFaults(limit, object.spec),
      );
      if (faults.length > 0) throw refuse(attributes, together(faults));
    }
    return [];
  };
}

function isResize({ request, operation }: AdmissionAttributes): boolean {
  const { resource, subresource } = request;
  return resource.keyPrefix === "/pods/" && subresource === "resize" && operation === "update";
}

function rangesOf(
  objects: ObjectReader,
  { request }: AdmissionAttributes,
): Promise<readonly any[]> {
  const { namespace, context } = request;
  return objects.list({ group: "", plural: "limitranges", namespace }, context);
}

/** Changes the containers in place; says what it did. */
function giveDefaults(spec: any, limits: readonly Limit[]): readonly string[] {
  const ofContainers = limits.filter(({ type }) => type === "Container");
  const requests: Amounts = Object.assign({}, ...ofContainers.map((each) => each.defaultRequest));
  const ceilings: Amounts = Object.assign({}, ...ofContainers.map((each) => each.default));
  const give = (container: any, what: string): readonly string[] => {
    const set = [
      { field: "requests", word: "request", amounts: requests },
      { field: "limits", word: "limit", amounts: ceilings },
    ];
    return set.flatMap(({ field, word, amounts }) => {
      const names = fill(container, field, amounts);
      return names.length > 0 ? [`${names.join(", ")} ${word} for ${what} ${container.name}`] : [];
    });
  };
  return [
    ...(spec.containers ?? []).flatMap((each: any) => give(each, "container")),
    ...(spec.initContainers ?? []).flatMap((each: any) => give(each, "init container")),
  ];
}

function fill(container: any, field: string, amounts: Amounts): readonly string[] {
  container.resources ??= {};
  const own: Amounts = container.resources[field] ?? {};
  const missing = Object.keys(amounts)
    .filter((name) => !Object.hasOwn(own, name))
    .sort();
  if (missing.length === 0) return [];
  const added = Object.fromEntries(missing.map((name) => [name, amounts[name]]));
  const both = { __proto__: null, ...own, ...added };
  container.resources[field] = both;
  return missing;
}

function podFaults(limit: any, spec: any): readonly string[] {
  if (limit.type === "Pod") {
    const usage = { requests: podTotal(spec, "requests"), limits: podTotal(spec, "limits") };
    return checkLimits(limit, usage);
  }
  if (limit.type !== "Container") return [];
  const all = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  return all.flatMap(({ resources }: any) =>
    checkLimits(limit, { requests: resources?.requests ?? {}, limits: resources?.limits ?? {} }),
  );
}

function claimFaults(limit: any, spec: any): readonly string[] {
  if (limit.type !== "PersistentVolumeClaim") return [];
  return checkLimits(limit, { requests: spec.resources?.requests ?? {}, limits: undefined });
}

/** Each fault once. */
function together(faults: readonly string[]): string {
  const once = [...new Set(faults)];
  return once.length === 1 ? once[0]! : `[${once.join(", ")}]`;
}

import { resolve } from "#meta";
import { type Amounts, podTotal } from "#quota";
import type { AdmissionAttributes } from "#registry";
import {
  aggregate,
  type Collection,
  isFor,
  type ObjectReader,
  forbiddenRequest,
} from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import { checkLimits } from "./limit-range-checks.ts";

interface Limit {
  readonly type: string;
  readonly default?: Amounts;
  readonly defaultRequest?: Amounts;
}

/**
 * Sets default requests and limits of the namespace's LimitRanges in new pods, records them in an annotation,
 * and rejects pods and claims that violate a LimitRange.
 */
export const limitRanger: AdmissionPlugin = {
  name: "LimitRanger",
  enabled: "default",
  resources: ["pods", "persistentvolumeclaims"],
  create({ objects, domain }) {
    const key = resolve("{label}/limit-ranger", domain);
    return {
      mutate: (attributes) => {
        if (!isNewPod(attributes) && !isResize(attributes)) return undefined;
        if (objects.isCachedEmpty(rangesIn(attributes))) return undefined;
        return applyDefaults(objects, attributes, key);
      },
      validate: (attributes) => {
        const isClaim =
          isFor(attributes, "", "persistentvolumeclaims") && attributes.operation !== "delete";
        if (!isNewPod(attributes) && !isClaim && !isResize(attributes)) return undefined;
        if (attributes.old?.metadata.deletionTimestamp) return undefined;
        if (objects.isCachedEmpty(rangesIn(attributes))) return undefined;
        return checkBounds(objects, attributes, isClaim ? claimFaults : podFaults);
      },
    };
  },
};

async function applyDefaults(
  objects: ObjectReader,
  attributes: AdmissionAttributes,
  key: string,
): Promise<readonly string[]> {
  const { metadata, spec } = attributes.object;
  for (const range of await rangesOf(objects, attributes)) {
    const set = setDefaults(spec, range.spec.limits ?? []);
    if (set.length === 0) continue;
    const text = `LimitRanger plugin set: ${set.join("; ")}`;
    const all = { __proto__: null, ...metadata.annotations, [key]: text };
    metadata.annotations = all;
  }
  return [];
}

async function checkBounds(
  objects: ObjectReader,
  attributes: AdmissionAttributes,
  faultsOf: (limit: any, spec: any) => readonly string[],
): Promise<readonly string[]> {
  for (const range of await rangesOf(objects, attributes)) {
    const faults = (range.spec.limits ?? []).flatMap((limit: any) =>
      faultsOf(limit, attributes.object.spec),
    );
    if (faults.length > 0) throw forbiddenRequest(attributes, aggregate(faults));
  }
  return [];
}

function isNewPod(attributes: AdmissionAttributes): boolean {
  return isFor(attributes, "", "pods") && attributes.operation === "create";
}

function isResize({ request, operation }: AdmissionAttributes): boolean {
  const { resource, subresource } = request;
  return resource.keyPrefix === "/pods/" && subresource === "resize" && operation === "update";
}

function rangesIn({ request }: AdmissionAttributes): Collection {
  return { group: "", plural: "limitranges", namespace: request.namespace };
}

function rangesOf(objects: ObjectReader, attributes: AdmissionAttributes): Promise<readonly any[]> {
  return objects.list(rangesIn(attributes), attributes.request.context);
}

/** Sets missing requests and limits in place; returns descriptions of them for the annotation. */
function setDefaults(spec: any, limits: readonly Limit[]): readonly string[] {
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
    const usage = { requests: podAmounts(spec, "requests"), limits: podAmounts(spec, "limits") };
    return checkLimits(limit, usage);
  }
  if (limit.type !== "Container") return [];
  const all = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  return all.flatMap(({ resources }: any) =>
    checkLimits(limit, { requests: resources?.requests ?? {}, limits: resources?.limits ?? {} }),
  );
}

const podLevelResources = ["cpu", "memory"];

/** Total of a pod's containers; pod-level CPU and memory override it. */
function podAmounts(spec: any, field: "requests" | "limits"): Amounts {
  const ofPod: Amounts = spec.resources?.[field] ?? {};
  const replaced = Object.entries(ofPod).filter(([name]) => podLevelResources.includes(name));
  return { ...podTotal(spec, field), ...Object.fromEntries(replaced) };
}

function claimFaults(limit: any, spec: any): readonly string[] {
  if (limit.type !== "PersistentVolumeClaim") return [];
  const { type, min, max } = limit;
  const requests = spec.resources?.requests ?? {};
  return checkLimits({ type, min, max }, { requests, limits: undefined });
}

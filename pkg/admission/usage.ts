import { memoize } from "#base";
import { type Domain, resolve, type Resource } from "#meta";
import type { AdmissionAttributes } from "#registry";
import type { Amounts } from "./amounts.ts";
import { annotation } from "./default-class.ts";
import { isFor } from "./objects.ts";
import { isPodResource, podUsage, unsaid } from "./pod-usage.ts";

/** How objects of one kind count in quotas. */
export interface Meter {
  /** Names of quotas that the kind has a part in. */
  readonly counts: (name: string) => boolean;
  readonly usage: (object: any) => Amounts;
  /** Why an object says too little for a quota of these names. */
  readonly unsaid?: (object: any, names: readonly string[]) => string | undefined;
}

/** Core kinds that are also counted under their own name. */
const plainlyCounted = ["configmaps", "resourcequotas", "replicationcontrollers", "secrets"];

/** Undefined for what no quota counts. */
export function meterFor(
  attributes: AdmissionAttributes,
  { domain, now }: { readonly domain: Domain; readonly now: number },
): Meter | undefined {
  const { target, operation } = attributes;
  const { resource, subresource } = target;
  const isNew = operation === "create";
  if (resource.keyPrefix === "/pods/") {
    const handles = subresource === "" ? isNew : subresource === "resize";
    const usage = (pod: any) => podUsage(pod, now);
    return handles ? { counts: isPodResource, usage, unsaid } : undefined;
  }
  if (isFor(attributes, "", "services")) return serviceMeter;
  if (isFor(attributes, "", "persistentvolumeclaims")) return claimMeter(domain);
  if (subresource !== "" || !isNew || resource.kind.rules.expires) return undefined;
  return objectMeter(resource);
}

const objectMeter = memoize(({ plural, group }: Resource): Meter => {
  const count = `count/${group === "" ? plural : `${plural}.${group}`}`;
  const names = group === "" && plainlyCounted.includes(plural) ? [count, plural] : [count];
  const amounts = Object.fromEntries(names.map((name) => [name, "1"]));
  return { counts: (name) => names.includes(name), usage: () => amounts };
});

const serviceNames = ["services", "services.nodeports", "services.loadbalancers", "count/services"];

const serviceMeter: Meter = {
  counts: (name) => serviceNames.includes(name),
  usage: ({ spec }) => {
    const ports: readonly { readonly nodePort?: number }[] = spec.ports ?? [];
    const isBalanced = spec.type === "LoadBalancer";
    const picky = isBalanced && spec.allocateLoadBalancerNodePorts === false;
    const onNodes = isBalanced || spec.type === "NodePort" ? ports : [];
    const counted = picky ? onNodes.filter(({ nodePort }) => nodePort) : onNodes;
    return {
      services: "1",
      "count/services": "1",
      "services.nodeports": String(counted.length),
      "services.loadbalancers": isBalanced ? "1" : "0",
    };
  },
};

function claimMeter(domain: Domain): Meter {
  const suffix = resolve(".storageclass.storage.{api}/", domain);
  const old = resolve("volume.beta.{label}/storage-class", domain);
  const plain = ["persistentvolumeclaims", "requests.storage", "count/persistentvolumeclaims"];
  return {
    counts: (name) =>
      plain.includes(name) ||
      [`${suffix}requests.storage`, `${suffix}persistentvolumeclaims`].some((end) =>
        name.endsWith(end),
      ),
    usage: ({ metadata, spec }) => {
      const storage: string | undefined = spec.resources?.requests?.storage;
      const name: string = annotation(metadata, old) ?? spec.storageClassName ?? "";
      const ofClass = name === "" ? undefined : `${name}${suffix}`;
      return {
        persistentvolumeclaims: "1",
        "count/persistentvolumeclaims": "1",
        ...(ofClass === undefined ? {} : { [`${ofClass}persistentvolumeclaims`]: "1" }),
        ...(storage === undefined ? {} : { "requests.storage": storage }),
        ...(storage === undefined || ofClass === undefined
          ? {}
          : { [`${ofClass}requests.storage`]: storage }),
      };
    },
  };
}

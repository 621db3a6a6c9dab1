import { type Domain, resolve } from "#meta";
import type { Amounts } from "./amounts.ts";
import { isPodResource, podUsage, unsaid } from "./pods.ts";

/** How objects of one kind count in quotas. */
export interface Meter {
  /** Names of quotas that the kind has a part in. */
  readonly counts: (name: string) => boolean;
  readonly usage: (object: any) => Amounts;
  /** Every object counts the same, whatever it says. */
  readonly isPlain: boolean;
  /** Why an object says too little for a quota of these names. */
  readonly unsaid?: (object: any, names: readonly string[]) => string | undefined;
}

/** Core kinds that are also counted under their own name. */
const plainlyCounted = ["configmaps", "resourcequotas", "replicationcontrollers", "secrets"];

/** How much of what is counted, by the resource; `now` in milliseconds since 1970. */
export function meterOf(
  resource: { readonly group: string; readonly plural: string },
  { domain, now }: { readonly domain: Domain; readonly now: number },
): Meter {
  const { group, plural } = resource;
  switch (group === "" ? plural : "") {
    case "pods": {
      const usage = (pod: any) => podUsage(pod, now);
      return { counts: isPodResource, usage, isPlain: false, unsaid };
    }
    case "services":
      return serviceMeter;
    case "persistentvolumeclaims":
      return claimMeter(domain);
    default:
      return objectMeter(group, plural);
  }
}

function objectMeter(group: string, plural: string): Meter {
  const count = `count/${group === "" ? plural : `${plural}.${group}`}`;
  const names = group === "" && plainlyCounted.includes(plural) ? [count, plural] : [count];
  const amounts = Object.fromEntries(names.map((name) => [name, "1"]));
  return { counts: (name) => names.includes(name), usage: () => amounts, isPlain: true };
}

const serviceNames = ["services", "services.nodeports", "services.loadbalancers", "count/services"];

const serviceMeter: Meter = {
  counts: (name) => serviceNames.includes(name),
  isPlain: false,
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
    isPlain: false,
    usage: ({ metadata, spec }) => {
      const storage: string | undefined = spec.resources?.requests?.storage;
      const { annotations = {} } = metadata;
      const former = Object.hasOwn(annotations, old) ? annotations[old] : undefined;
      const name: string = former ?? spec.storageClassName ?? "";
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

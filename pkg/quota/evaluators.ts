import { type Domain, resolve } from "#meta";
import type { Amounts } from "./amounts.ts";
import { isPodResource, podUsage, missingResources } from "./pods.ts";

/** Usage of the objects of one kind, as a quota counts it. */
export interface Evaluator {
  /** Whether objects of the kind count for a quota of this resource name. */
  readonly matches: (name: string) => boolean;
  readonly usage: (object: any) => Amounts;
  /** Every object has the same usage. */
  readonly isPlain: boolean;
  /** Why an object lacks values that a quota of these names requires. */
  readonly missingResources?: (object: any, names: readonly string[]) => string | undefined;
}

/** Core kinds that quotas also count under their plural. */
const plainlyCounted = ["configmaps", "resourcequotas", "replicationcontrollers", "secrets"];

/** The evaluator of a resource; `now` in milliseconds since 1970. */
export function evaluatorFor(
  resource: { readonly group: string; readonly plural: string },
  { domain, now }: { readonly domain: Domain; readonly now: number },
): Evaluator {
  const { group, plural } = resource;
  switch (group === "" ? plural : "") {
    case "pods": {
      const usage = (pod: any) => podUsage(pod, now);
      return { matches: isPodResource, usage, isPlain: false, missingResources };
    }
    case "services":
      return serviceMeter;
    case "persistentvolumeclaims":
      return claimMeter(domain);
    default:
      return objectMeter(group, plural);
  }
}

function objectMeter(group: string, plural: string): Evaluator {
  const count = `count/${group === "" ? plural : `${plural}.${group}`}`;
  const names = group === "" && plainlyCounted.includes(plural) ? [count, plural] : [count];
  const amounts = Object.fromEntries(names.map((name) => [name, "1"]));
  return { matches: (name) => names.includes(name), usage: () => amounts, isPlain: true };
}

const serviceNames = ["services", "services.nodeports", "services.loadbalancers", "count/services"];

const serviceMeter: Evaluator = {
  matches: (name) => serviceNames.includes(name),
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

function claimMeter(domain: Domain): Evaluator {
  const suffix = resolve(".storageclass.storage.{api}/", domain);
  const old = resolve("volume.beta.{label}/storage-class", domain);
  const plain = ["persistentvolumeclaims", "requests.storage", "count/persistentvolumeclaims"];
  return {
    matches: (name) =>
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

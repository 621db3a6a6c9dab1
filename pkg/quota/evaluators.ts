import { type Domain, Quantity, resolve } from "#meta";
import { type Amounts, larger, plus } from "./amounts.ts";
import { isPodResource, podUsage, missingResources } from "./pods.ts";

/** Computes the quota usage of objects of one kind. */
export interface Evaluator {
  /** Whether objects of the kind count for a quota of this resource name. */
  readonly matches: (name: string) => boolean;
  /** Usage of an object, by resource names of quotas. */
  readonly usage: (object: any) => Amounts;
  /** Whether every object has the same usage, so that updates never change it. */
  readonly isConstant: boolean;
  /** Message about requests and limits that a quota of these names requires and the object lacks. */
  readonly missingResources?: (object: any, names: readonly string[]) => string | undefined;
}

/** Core kinds that quotas also count by plural, without `count/`. */
const countedByPlural = ["configmaps", "resourcequotas", "replicationcontrollers", "secrets"];

/** The evaluator of a resource; `now` in milliseconds since 1970. */
export function evaluatorFor(
  resource: { readonly group: string; readonly plural: string },
  { domain, now }: { readonly domain: Domain; readonly now: number },
): Evaluator {
  const { group, plural } = resource;
  if (group === resolve("resource.{api}", domain) && plural === "resourceclaims") {
    return deviceClaimEvaluator(domain);
  }
  switch (group === "" ? plural : "") {
    case "pods": {
      const usage = (pod: any) => podUsage(pod, now);
      return { matches: isPodResource, usage, isConstant: false, missingResources };
    }
    case "services":
      return serviceEvaluator;
    case "persistentvolumeclaims":
      return volumeClaimEvaluator(domain);
    default:
      return objectEvaluator(group, plural);
  }
}

/** Counts objects of a kind without an evaluator of its own. */
function objectEvaluator(group: string, plural: string): Evaluator {
  const count = `count/${group === "" ? plural : `${plural}.${group}`}`;
  const names = group === "" && countedByPlural.includes(plural) ? [count, plural] : [count];
  const amounts = Object.fromEntries(names.map((name) => [name, "1"]));
  return { matches: (name) => names.includes(name), usage: () => amounts, isConstant: true };
}

const serviceNames = ["services", "services.nodeports", "services.loadbalancers", "count/services"];

const serviceEvaluator: Evaluator = {
  matches: (name) => serviceNames.includes(name),
  isConstant: false,
  usage: ({ spec }) => {
    const ports: readonly { readonly nodePort?: number }[] = spec.ports ?? [];
    const hasLoadBalancer = spec.type === "LoadBalancer";
    const countsOnlySet = hasLoadBalancer && spec.allocateLoadBalancerNodePorts === false;
    const nodePorts = hasLoadBalancer || spec.type === "NodePort" ? ports : [];
    const counted = countsOnlySet ? nodePorts.filter(({ nodePort }) => nodePort) : nodePorts;
    return {
      services: "1",
      "count/services": "1",
      "services.nodeports": String(counted.length),
      "services.loadbalancers": hasLoadBalancer ? "1" : "0",
    };
  },
};

function volumeClaimEvaluator(domain: Domain): Evaluator {
  const suffix = resolve(".storageclass.storage.{api}/", domain);
  const betaAnnotation = resolve("volume.beta.{label}/storage-class", domain);
  const names = ["persistentvolumeclaims", "requests.storage", "count/persistentvolumeclaims"];
  return {
    matches: (name) =>
      names.includes(name) ||
      [`${suffix}requests.storage`, `${suffix}persistentvolumeclaims`].some((end) =>
        name.endsWith(end),
      ),
    isConstant: false,
    usage: ({ metadata, spec, status }) => {
      const storage = storageOf(spec, status);
      const { annotations = {} } = metadata;
      const betaClass = Object.hasOwn(annotations, betaAnnotation)
        ? annotations[betaAnnotation]
        : undefined;
      const name: string = betaClass ?? spec.storageClassName ?? "";
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

/** The larger of requested and allocated storage, in whole bytes. */
function storageOf(spec: any, status: any): string | undefined {
  const requested: string | undefined = spec.resources?.requests?.storage;
  const allocated: string | undefined = status?.allocatedResources?.storage;
  if (requested === undefined || allocated === undefined) {
    return requested && wholeBytes(requested);
  }
  return larger({ storage: wholeBytes(requested) }, { storage: wholeBytes(allocated) })["storage"];
}

function wholeBytes(amount: string): string {
  return Quantity.parse(amount).roundUp(0).toString();
}

/** Maximum number of devices of a request with allocation mode `All`, as in Kubernetes. */
const maxDevices = 32;

interface DeviceRequest {
  readonly deviceClassName?: string;
  readonly allocationMode?: string;
  readonly count?: number | bigint;
}

/** Counts ResourceClaims, and the maximum number of their devices by device class. */
function deviceClaimEvaluator(domain: Domain): Evaluator {
  const count = resolve("count/resourceclaims.resource.{api}", domain);
  const suffix = resolve(".deviceclass.resource.{api}/devices", domain);
  const amountsOf = ({ deviceClassName = "", allocationMode, count: exact = 0 }: DeviceRequest) => {
    const devices = { ExactCount: exact, All: maxDevices }[allocationMode ?? ""] ?? 0;
    return { [`${deviceClassName}${suffix}`]: String(devices) };
  };
  return {
    matches: (name) => name === count || name.endsWith(suffix),
    isConstant: false,
    usage: ({ spec }) => {
      let usage: Amounts = { [count]: "1" };
      for (const { exactly, firstAvailable } of spec.devices?.requests ?? []) {
        const alternatives: readonly DeviceRequest[] = firstAvailable ?? [];
        if (alternatives.length > 0) {
          usage = plus(usage, alternatives.map(amountsOf).reduce(larger));
        } else if (exactly) usage = plus(usage, amountsOf(exactly));
      }
      return usage;
    },
  };
}

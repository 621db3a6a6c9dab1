/** Small plugins that are off unless they are switched on. */
import { type Domain, resolve } from "#meta";
import type { AdmissionAttributes, AdmissionHandler } from "#registry";
import { isFor, refuse } from "../../objects.ts";

/** Lets services keep the external addresses they have, and get no new ones. */
export const denyExternalAddresses: AdmissionHandler = async (attributes) => {
  if (!isFor(attributes, "", "services") || attributes.operation === "delete") return [];
  const [wanted, held] = [attributes.object, attributes.old].map(
    (service): readonly string[] => service?.spec.externalIPs ?? [],
  );
  const known = new Set(held);
  if (wanted?.every((address) => known.has(address))) return [];
  throw refuse(attributes, "Use of external IPs is denied by admission control.");
};

const lists = ["initContainers", "containers", "ephemeralContainers"];

function containersOf(pod: any): readonly any[] {
  return lists.flatMap((list) => pod?.spec[list] ?? []);
}

/** Updates that bring no new image stay as they are. */
function bringsImages(attributes: AdmissionAttributes): boolean {
  const { object, old, operation } = attributes;
  if (!isFor(attributes, "", "pods") || operation === "delete") return false;
  const known = new Set(containersOf(old).map(({ image }) => image));
  return old === undefined || containersOf(object).some(({ image }) => !known.has(image));
}

/** Images are pulled with the credentials of each pod, never found on a node by chance. */
export const alwaysPull: AdmissionHandler = async (attributes) => {
  if (!bringsImages(attributes)) return [];
  const { object: pod } = attributes;
  for (const container of containersOf(pod)) container.imagePullPolicy = "Always";
  for (const { image } of pod.spec.volumes ?? []) if (image) image.pullPolicy = "Always";
  return [];
};

/** Once more when all others have had their say. */
export const alwaysPullCheck: AdmissionHandler = async (attributes) => {
  if (!bringsImages(attributes)) return [];
  for (const list of lists) {
    const containers: readonly any[] = attributes.object.spec[list] ?? [];
    const index = containers.findIndex(({ imagePullPolicy }) => imagePullPolicy !== "Always");
    if (index < 0) continue;
    const value = JSON.stringify(containers[index].imagePullPolicy ?? "");
    const path = `spec.${list}[${index}].imagePullPolicy`;
    const story = `${path}: Unsupported value: ${value}: supported values: "Always"`;
    throw refuse(attributes, story);
  }
  return [];
};

/** Pods may not keep others away from more than a node. */
export function hostAntiAffinity(domain: Domain): AdmissionHandler {
  const allowed = resolve("{label}/hostname", domain);
  return async (attributes) => {
    if (!isFor(attributes, "", "pods") || attributes.operation !== "create") return [];
    const { podAntiAffinity } = attributes.object.spec.affinity ?? {};
    const terms: readonly any[] =
      podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    const other = terms.find(({ topologyKey }) => topologyKey !== allowed);
    if (other === undefined) return [];
    const field = "affinity.PodAntiAffinity.RequiredDuringScheduling";
    const story = `has TopologyKey ${other.topologyKey} but only key ${allowed} is allowed`;
    throw refuse(attributes, `${field} ${story}`);
  };
}

/** Pods that ask for devices tolerate the taints that keep others off the nodes with them. */
export function deviceTolerations(domain: Domain): AdmissionHandler {
  return async (attributes) => {
    const { object: pod, operation, request } = attributes;
    const isPod = request.resource.keyPrefix === "/pods/" && request.subresource === "";
    if (!isPod || operation === "delete") return [];
    const asked = containersOf(pod).flatMap(({ resources }) =>
      Object.keys(resources?.requests ?? {}),
    );
    const devices = [...new Set(asked)].filter((name) => isExtended(name, domain)).sort();
    for (const key of devices) {
      const tolerations: readonly any[] = pod.spec.tolerations ?? [];
      const isThere = tolerations.some(
        (each) => each.key === key && each.operator === "Exists" && !each.effect && !each.value,
      );
      if (!isThere) pod.spec.tolerations = [...tolerations, { key, operator: "Exists" }];
    }
    return [];
  };
}

/** Names with a domain that is not Kubernetes' own. */
function isExtended(name: string, { label }: Domain): boolean {
  const slash = name.indexOf("/");
  if (slash < 0 || name.startsWith("requests.")) return false;
  const owner = name.slice(0, slash);
  return owner !== label && !owner.endsWith(`.${label}`);
}

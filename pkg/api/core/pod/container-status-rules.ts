/** Validation of container statuses. */
import { Path, type Problems } from "#schema";
import { entry, duplicateIndexes } from "../../strategy.ts";
import type { Container } from "./container/containers.ts";
import { checkId } from "./container/security-rules.ts";
import type { Pod } from "./pod-types.ts";

export const statusFields = [
  "containerStatuses",
  "initContainerStatuses",
  "ephemeralContainerStatuses",
] as const;

type ContainerStatus = NonNullable<Pod["status"]["containerStatuses"]>[number];
type Health = NonNullable<ContainerStatus["allocatedResourcesStatus"]>[number];

const healths = ["Healthy", "Unhealthy", "Unknown"];

export function checkContainerStatuses({ spec, status }: Pod, problems: Problems): void {
  const system = spec.os?.name ?? "linux";
  for (const field of statusFields) {
    for (const [index, { user }] of (status[field] ?? []).entries()) {
      if (user?.linux === undefined) continue;
      const linuxPath = Path.of("status").child(field).index(index).child("user", "linux");
      if (system === "windows") problems.forbidden(linuxPath, "cannot be set for a windows pod");
      if (system !== "linux") continue;
      checkId(user.linux.uid, linuxPath.child("uid"), problems);
      checkId(user.linux.gid, linuxPath.child("gid"), problems);
      for (const [i, group] of (user.linux.supplementalGroups ?? []).entries()) {
        checkId(group, linuxPath.child("supplementalGroups").index(i), problems);
      }
    }
  }
  checkHealth(
    status.containerStatuses,
    { field: "containerStatuses", problems },
    spec.containers ?? [],
  );
  const init = { field: "initContainerStatuses", problems };
  checkHealth(status.initContainerStatuses, init, spec.initContainers ?? []);
  for (const [index, each] of (status.ephemeralContainerStatuses ?? []).entries()) {
    if ((each.allocatedResourcesStatus ?? []).length === 0) continue;
    const itemPath = Path.of("status.ephemeralContainerStatuses").index(index);
    const detail = "must not be specified in container status";
    problems.forbidden(itemPath.child("allocatedResourcesStatus"), detail);
  }
}

/** Reported device health must refer to resources or claims of the container. */
function checkHealth(
  statuses: readonly ContainerStatus[] = [],
  { field, problems }: { readonly field: string; readonly problems: Problems },
  containers: readonly Container[],
): void {
  for (const [index, status] of statuses.entries()) {
    const container = containers.find(({ name }) => name === status.name);
    for (const [i, health] of (status.allocatedResourcesStatus ?? []).entries()) {
      const list = Path.of("status").child(field).index(index).child("allocatedResourcesStatus");
      const itemPath = list.index(i);
      const fault = container && requestFault(health.name, container);
      if (fault !== undefined) problems.invalid(itemPath.child("name"), health.name, fault);
      checkDevices(health, itemPath, problems);
    }
  }
}

/** Error message unless the container requests this resource or claim; undefined if it does. */
function requestFault(name: string, { resources }: Container): string | undefined {
  if (!name.startsWith("claim:")) {
    if (entry(resources.requests, name) !== undefined) return undefined;
    return "must match one of the container's resource requests";
  }
  const claims = (resources.claims ?? []).map(
    (claim) => `claim:${claim.name}${claim.request ? `/${claim.request}` : ""}`,
  );
  if (claims.includes(name)) return undefined;
  return (
    "must match one of the container's resource claims in a format " +
    "'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
  );
}

function checkDevices({ resources = [] }: Health, path: Path, problems: Problems): void {
  const repeated = duplicateIndexes(resources, ({ resourceID }) => resourceID);
  for (const [index, { health = "", resourceID }] of resources.entries()) {
    const itemPath = path.child("resources").index(index);
    if (!healths.includes(health)) problems.notSupported(itemPath.child("health"), health, healths);
    if (repeated.has(index)) problems.duplicate(itemPath.child("resourceID"), resourceID);
  }
}

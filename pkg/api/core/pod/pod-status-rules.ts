/** Validation of pod status. */
import { Path, type Problems } from "#schema";
import { isDns1123Label, isDns1123Subdomain, isQualifiedName } from "#meta";
import { ipFamily, parseIp } from "#base";
import {
  entry,
  firstByName,
  invalidEach,
  mustNotChange,
  duplicateIndexes,
} from "../../strategy.ts";
import { checkContainerStatuses, statusFields } from "./container-status-rules.ts";
import { checkAddressText } from "./spec/dns-rules.ts";
import type { Pod } from "./pod-types.ts";
import { isSidecar } from "../shared/resource-amounts.ts";

const path = Path.of("status");
const systemConditions = ["PodScheduled", "Ready", "Initialized"];

export function checkPodStatus(pod: Pod, old: Pod, problems: Problems): void {
  const { status } = pod;
  for (const [index, { type, observedGeneration }] of (status.conditions ?? []).entries()) {
    const itemPath = path.child("conditions").index(index);
    checkGeneration(observedGeneration, itemPath.child("observedGeneration"), problems);
    if (systemConditions.includes(type)) continue;
    invalidEach(problems, itemPath.child("Type"), { value: type, messages: isQualifiedName(type) });
  }
  const node = status.nominatedNodeName ?? "";
  if (node !== "" && node !== (old.status.nominatedNodeName ?? "")) {
    const messages = isDns1123Subdomain(node);
    invalidEach(problems, path.child("nominatedNodeName"), { value: node, messages });
  }
  checkGeneration(status.observedGeneration, path.child("observedGeneration"), problems);
  mustNotChange(problems, path.child("qosClass"), {
    now: status.qosClass ?? "",
    before: old.status.qosClass ?? "",
  });
  checkRestarts(pod, old, problems);
  checkClaims(pod, problems);
  checkExtendedClaim(pod, problems);
  const [podIPs, hostIPs] = [status.podIPs ?? [], status.hostIPs ?? []];
  checkAddresses(podIPs, { path: path.child("podIPs"), known: old.status.podIPs, problems });
  const hostIPsPath = path.child("hostIPs");
  if (hostIPs.length > 0 && hostIPs[0]?.ip !== (status.hostIP ?? "")) {
    problems.invalid(hostIPsPath.index(0).child("ip"), hostIPs[0]?.ip, "must be equal to `hostIP`");
  }
  checkAddresses(hostIPs, { path: hostIPsPath, known: old.status.hostIPs, problems });
  checkContainerStatuses(pod, problems);
}

function checkGeneration(
  generation: number | bigint | undefined,
  path: Path,
  problems: Problems,
): void {
  if (generation === undefined || generation >= 0) return;
  problems.invalid(path, generation, "must be a non-negative integer");
}

/** Validates resourceClaimStatuses: each must refer to a distinct entry of spec.resourceClaims. */
function checkClaims({ spec, status }: Pod, problems: Problems): void {
  const names = new Set((spec.resourceClaims ?? []).map(({ name }) => name));
  const claims = status.resourceClaimStatuses ?? [];
  const repeated = duplicateIndexes(claims, ({ name }) => name);
  for (const [index, { name, resourceClaimName }] of claims.entries()) {
    const namePath = path.child("resourceClaimStatuses").index(index).child("name");
    if (!names.has(name)) {
      const detail = "must match the name of an entry in `spec.resourceClaims`";
      problems.invalid(namePath, name, detail);
    }
    if (repeated.has(index)) problems.duplicate(namePath, name);
    if (resourceClaimName === undefined) continue;
    const messages = isDns1123Subdomain(resourceClaimName);
    invalidEach(problems, namePath, { value: resourceClaimName, messages });
  }
}

const mappedContainerMessage =
  "must match the name of an entry in spec.initContainers.name or spec.containers.name";
const mappedResourceMessage =
  "must match the extended resource name of an entry in spec.initContainers.resources.requests " +
  "or spec.containers.resources.requests";

/** Validates extendedResourceClaimStatus: containers and requests of the scheduler's claim. */
function checkExtendedClaim({ spec, status }: Pod, problems: Problems): void {
  const claim = status.extendedResourceClaimStatus;
  if (claim === undefined) return;
  const extendedResourceClaimStatusPath = path.child("extendedResourceClaimStatus");
  const mappings = claim.requestMappings ?? [];
  const mappingsPath = extendedResourceClaimStatusPath.child("requestMappings");
  if (mappings.length === 0) {
    problems.required(mappingsPath, "at least one request mapping is required");
  }
  const containers = new Map(
    [...(spec.initContainers ?? []), ...(spec.containers ?? [])].map((each) => [each.name, each]),
  );
  const repeated = duplicateIndexes(mappings, ({ containerName, resourceName }) =>
    JSON.stringify([containerName, resourceName]),
  );
  for (const [index, { containerName, resourceName, requestName }] of mappings.entries()) {
    const at = mappingsPath.index(index);
    const container = containers.get(containerName);
    if (container === undefined) {
      problems.invalid(at.child("containerName"), containerName, mappedContainerMessage);
    } else if (entry(container.resources.requests, resourceName) === undefined) {
      problems.invalid(at.child("resourceName"), resourceName, mappedResourceMessage);
    }
    const messages = isDns1123Label(requestName);
    invalidEach(problems, extendedResourceClaimStatusPath.child("requestName"), {
      value: requestName,
      messages,
    });
    if (!repeated.has(index)) continue;
    problems.duplicate(at.child("containerName"), containerName);
    problems.duplicate(at.child("resourceName"), resourceName);
  }
  const { resourceClaimName: name } = claim;
  if (name === "")
    return problems.required(extendedResourceClaimStatusPath.child("resourceClaimName"));
  const messages = isDns1123Subdomain(name);
  invalidEach(problems, extendedResourceClaimStatusPath.child("resourceClaimName"), {
    value: name,
    messages,
  });
}

/** Rejects restarts of containers that terminated for good, and of ephemeral containers. */
function checkRestarts({ status }: Pod, { spec, status: old }: Pod, problems: Problems): void {
  const { restartPolicy } = spec;
  const sidecars = new Set((spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  const mayRestart = (name: string, exitCode: number) =>
    restartPolicy === "Always" ||
    sidecars.has(name) ||
    (exitCode !== 0 && restartPolicy === "OnFailure");
  for (const field of statusFields) {
    const byName = firstByName(status[field]);
    for (const [index, before] of (old[field] ?? []).entries()) {
      const { terminated } = before.state;
      if (terminated === undefined) continue;
      const isEphemeral = field === "ephemeralContainerStatuses";
      if (!isEphemeral && mayRestart(before.name, terminated.exitCode)) continue;
      const now = byName.get(before.name);
      if (now === undefined || now.state.terminated !== undefined) continue;
      const statePath = path.child(field).index(index).child("state");
      problems.forbidden(statePath, "may not be transitioned to non-terminated state");
    }
  }
}

interface AddressContext {
  readonly path: Path;
  /** Addresses of the old status, which are not validated again. */
  readonly known: readonly { readonly ip: string }[] | undefined;
  readonly problems: Problems;
}

function checkAddresses(
  addresses: readonly { readonly ip: string }[],
  { path: place, known = [], problems }: AddressContext,
): void {
  const old = new Set(known.map(({ ip }) => ip));
  for (const [index, { ip }] of addresses.entries()) {
    if (!old.has(ip)) checkAddressText(ip, place.index(index), problems);
  }
  if (addresses.length < 2) return;
  const parsed = addresses.map(({ ip }) => parseIp(ip));
  const malformed = parsed.indexOf(undefined);
  if (malformed >= 0) {
    const text = addresses[malformed]?.ip;
    const detail = `failed to check for dual stack with error:invalid IP[${malformed}]: ${text}`;
    problems.add({ type: "InternalError", field: place.toString(), detail });
  }
  const families = new Set(addresses.map(({ ip }) => ipFamily(ip)));
  if (malformed < 0 && addresses.length === 2 && families.size === 2) return;
  const goAddresses = addresses.map(({ ip }) => ({ IP: ip }));
  problems.invalid(place, goAddresses, "may specify no more than one IP for each IP family");
}

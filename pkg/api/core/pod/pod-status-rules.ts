/** Rules of what nodes and schedulers say of a pod. */
import { Path, type Problems } from "#schema";
import { isDns1123Subdomain, isQualifiedName } from "#meta";
import { parseIp } from "#base";
import { firstByName, invalidEach, mustNotChange, repeatedPlaces } from "../../strategy.ts";
import { checkAddressText } from "./spec/dns-rules.ts";
import type { Pod } from "./pod-types.ts";
import { isSidecar } from "../shared/resource-amounts.ts";

const path = Path.of("status");
const systemConditions = ["PodScheduled", "Ready", "Initialized"];

export function checkPodStatus(pod: Pod, old: Pod, problems: Problems): void {
  const { status } = pod;
  for (const [index, { type }] of (status.conditions ?? []).entries()) {
    if (systemConditions.includes(type)) continue;
    const place = path.child("conditions").index(index).child("Type");
    invalidEach(problems, place, { value: type, messages: isQualifiedName(type) });
  }
  const node = status.nominatedNodeName ?? "";
  if (node !== "" && node !== (old.status.nominatedNodeName ?? "")) {
    const messages = isDns1123Subdomain(node);
    invalidEach(problems, path.child("nominatedNodeName"), { value: node, messages });
  }
  mustNotChange(problems, path.child("qosClass"), {
    now: status.qosClass ?? "",
    before: old.status.qosClass ?? "",
  });
  checkRestarts(pod, old, problems);
  checkAddresses(status.podIPs ?? [], "podIPs", problems);
  checkAddresses(status.hostIPs ?? [], "hostIPs", problems);
}

/** Where containers end for good, they do not come back. */
function checkRestarts({ status }: Pod, { spec, status: old }: Pod, problems: Problems): void {
  const { restartPolicy } = spec;
  const sidecars = new Set((spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  const check = (field: "containerStatuses" | "initContainerStatuses") => {
    const byName = firstByName(status[field]);
    for (const [index, before] of (old[field] ?? []).entries()) {
      const { terminated } = before.state;
      if (terminated === undefined || sidecars.has(before.name)) continue;
      if (terminated.exitCode !== 0 && restartPolicy === "OnFailure") continue;
      const now = byName.get(before.name);
      if (now === undefined || now.state.terminated !== undefined) continue;
      const place = path.child(field).index(index).child("state");
      problems.forbidden(place, "may not be transitioned to non-terminated state");
    }
  };
  if (restartPolicy === "Always") return;
  check("containerStatuses");
  check("initContainerStatuses");
}

function checkAddresses(
  addresses: readonly { readonly ip: string }[],
  field: "podIPs" | "hostIPs",
  problems: Problems,
): void {
  const place = path.child(field);
  for (const [index, { ip }] of addresses.entries()) {
    checkAddressText(ip, place.index(index), problems);
  }
  if (addresses.length < 2) return;
  const lengths = new Set(addresses.map(({ ip }) => parseIp(ip)?.length));
  if (addresses.length > 2 || lengths.size < 2) {
    const shown = addresses.map(({ ip }) => ({ IP: ip }));
    problems.invalid(place, shown, "may specify no more than one IP for each IP family");
  }
  for (const index of repeatedPlaces(addresses, ({ ip }) => ip)) {
    problems.duplicate(place.index(index), { IP: addresses[index]?.ip });
  }
}

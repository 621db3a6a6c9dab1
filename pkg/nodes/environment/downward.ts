/** Downward API: fields of a pod and resources of its containers. */
import type { Amounts } from "#quota";
import { type Container, containersOf, type Pod, type ResourceFieldSelector } from "#kinds";
import { goQuote, Quantity } from "#meta";

/** Text of a pod field; undefined = unknown path. */
export function podField({ metadata, spec, status }: Pod, path: string): string | undefined {
  const [, list, key = ""] = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(path) ?? [];
  if (list === "labels") return metadata.labels?.[key] ?? "";
  if (list === "annotations") return metadata.annotations?.[key] ?? "";
  switch (path) {
    case "metadata.labels":
      return mapText(metadata.labels);
    case "metadata.annotations":
      return mapText(metadata.annotations);
    case "metadata.name":
      return metadata.name;
    case "metadata.namespace":
      return metadata.namespace ?? "";
    case "metadata.uid":
      return metadata.uid;
    case "spec.nodeName":
      return spec?.nodeName ?? "";
    case "spec.serviceAccountName":
      return spec?.serviceAccountName ?? "";
    case "status.hostIP":
      return status?.hostIP ?? "";
    case "status.hostIPs":
      return (status?.hostIPs ?? []).map(({ ip }) => ip).join(",");
    case "status.podIP":
      return status?.podIP ?? "";
    case "status.podIPs":
      return (status?.podIPs ?? []).map(({ ip }) => ip).join(",");
    default:
      return undefined;
  }
}

/** Lines `key="value"`, in the order of the keys. */
function mapText(map: Readonly<Record<string, string>> = {}): string {
  const lines = Object.keys(map)
    .sort()
    .map((key) => `${key}=${goQuote(map[key]!)}`);
  return lines.join("\n");
}

/**
 * A resource amount of a container in units of the divisor, rounded up. The default of a limit is the node's
 * allocatable amount.
 */
export function resourceField(
  pod: Pod,
  own: Container,
  {
    selector,
    allocatable,
  }: { readonly selector: ResourceFieldSelector; readonly allocatable: Amounts },
): string {
  const { containerName = "", resource, divisor = "0" } = selector;
  const container = containersOf(pod).find(({ name }) => name === containerName) ?? own;
  const [list = "", name = ""] = resource.split(/\.(.*)/s);
  const { limits, requests } = container.resources ?? {};
  const amounts = list === "limits" ? { ...allocatable, ...limits } : requests;
  const amount = Quantity.parse(amounts?.[name] ?? "0");
  const unit = Quantity.parse(divisor);
  const isZero = unit.milliValue() === 0n;
  const [value, by] =
    name === "cpu"
      ? [amount.milliValue(), isZero ? 1_000n : unit.milliValue()]
      : [amount.value(), isZero ? 1n : unit.value()];
  return String((value + by - 1n) / by);
}

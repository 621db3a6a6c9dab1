import type { Autoscaler, Metric, MetricStatus, MetricTarget } from "./autoscaler-structs.ts";

const unknownText = "<unknown>";
const maxPrintedMetrics = 2;

/** Table cell of current and target values: `cpu: 42%/80%, 900m/1k + 1 more...`. */
export function targetsCell({ spec, status }: Autoscaler): string {
  const metrics = spec.metrics ?? [];
  if (metrics.length === 0) return "<none>";
  const cells = metrics.map((metric, index) => cell(metric, status.currentMetrics?.[index]));
  if (cells.length <= maxPrintedMetrics) return cells.join(", ");
  return `${cells.slice(0, maxPrintedMetrics).join(", ")} + ${cells.length - maxPrintedMetrics} more...`;
}

function cell(metric: Metric, status: MetricStatus | undefined): string {
  const { external, pods, object, resource, containerResource } = metric;
  switch (metric.type) {
    case "External":
      return external ? valueCell(external.target, status?.external?.current) : unknownText;
    case "Pods":
      return `${status?.pods?.current.averageValue ?? unknownText}/${pods?.target.averageValue ?? ""}`;
    case "Object":
      return object ? valueCell(object.target, status?.object?.current) : unknownText;
    case "Resource":
      return resource ? useCell(resource, status?.resource?.current) : unknownText;
    case "ContainerResource":
      if (containerResource === undefined) return unknownText;
      return useCell(containerResource, status?.containerResource?.current);
    default:
      return "<unknown type>";
  }
}

type Current = NonNullable<MetricStatus["resource"]>["current"];

function valueCell({ averageValue, value }: MetricTarget, current: Current | undefined): string {
  if (averageValue !== undefined) {
    return `${current?.averageValue ?? unknownText}/${averageValue} (avg)`;
  }
  return `${current?.value ?? unknownText}/${value ?? ""}`;
}

function useCell(
  { name, target }: { readonly name: string; readonly target: MetricTarget },
  current: Current | undefined,
): string {
  if (target.averageValue !== undefined) {
    return `${name}: ${current?.averageValue ?? unknownText}/${target.averageValue}`;
  }
  const percent = (share: number | undefined, otherwise: string) =>
    share === undefined ? otherwise : `${share}%`;
  const now = percent(current?.averageUtilization, unknownText);
  return `${name}: ${now}/${percent(target.averageUtilization, "<auto>")}`;
}

/** Hints of EndpointSlices for `spec.trafficDistribution` of a Service. */
import type { Endpoint, EndpointSlice } from "#kinds";
import type { PlannedSlice } from "./slice-plan.ts";

const known: ReadonlySet<string> = new Set(["PreferClose", "PreferSameZone", "PreferSameNode"]);

export function isTrafficDistribution(value: string | undefined): value is string {
  return value !== undefined && known.has(value);
}

/** Sets the hints of each ready endpoint to its own zone, with PreferSameNode also to its node. */
export function addDistributionHints(
  planned: readonly PlannedSlice[],
  unchanged: readonly EndpointSlice[],
  distribution: string,
): readonly EndpointSlice[] {
  const withNode = distribution === "PreferSameNode";
  for (const slice of planned) {
    slice.endpoints = slice.endpoints.map((each) => withHints(each, withNode));
  }
  return unchanged.filter(({ endpoints }) =>
    endpoints.some((each) => !hasSameHints(each, withHints(each, withNode))),
  );
}

function withHints(endpoint: Endpoint, withNode: boolean): Endpoint {
  const { conditions, zone, nodeName } = endpoint;
  if (conditions?.ready !== true) return endpoint;
  const { hints: _hints, ...rest } = endpoint;
  const hints = {
    ...(zone === undefined ? {} : { forZones: [{ name: zone }] }),
    ...(nodeName === undefined || !withNode ? {} : { forNodes: [{ name: nodeName }] }),
  };
  return Object.keys(hints).length === 0 ? rest : { ...rest, hints };
}

function hasSameHints({ hints: left }: Endpoint, { hints: right }: Endpoint): boolean {
  const textOf = (hints: Endpoint["hints"]) =>
    JSON.stringify([
      (hints?.forZones ?? []).map(({ name }) => name),
      (hints?.forNodes ?? []).map(({ name }) => name),
    ]);
  return textOf(left) === textOf(right);
}

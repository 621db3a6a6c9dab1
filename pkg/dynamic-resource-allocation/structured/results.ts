/** Builds the AllocationResult of a claim. */
import type {
  AllocatedConfiguration,
  AllocatedDevice,
  AllocationResult,
  DeviceConfiguration,
  NodeSelector,
  ResourceClaim,
} from "#kinds";
import type { Candidate } from "./pools.ts";
import { AllocationFault, type PreparedRequest } from "./requests.ts";

/** A device chosen for a request. */
export interface Chosen {
  readonly request: PreparedRequest;
  readonly candidate: Candidate;
  readonly result: AllocatedDevice;
}

type Term = NonNullable<NodeSelector["nodeSelectorTerms"]>[number];
type Requirement = NonNullable<Term["matchFields"]>[number];

/** @throws AllocationFault for node selectors that cannot be combined */
export function allocationOf(
  claim: ResourceClaim,
  requests: readonly PreparedRequest[],
  chosen: readonly Chosen[],
): AllocationResult {
  const results = chosen.map(({ result }) => result);
  const config = [...classConfigs(requests), ...claimConfigs(claim, requests)];
  const nodeSelector = nodeSelectorOf(chosen.map(({ candidate }) => candidate));
  return {
    devices: { results, ...(config.length === 0 ? {} : { config }) },
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
  };
}

/** Configurations of classes: each class once, with all its requests. */
function classConfigs(requests: readonly PreparedRequest[]): AllocatedConfiguration[] {
  const byClass = new Map<string, { configs: readonly DeviceConfiguration[]; names: string[] }>();
  for (const { deviceClass, fullName } of requests) {
    const { metadata, spec } = deviceClass;
    const known = byClass.get(metadata.name);
    if (known === undefined) {
      byClass.set(metadata.name, { configs: spec.config ?? [], names: [fullName] });
    } else known.names.push(fullName);
  }
  return [...byClass.values()].flatMap(({ configs, names }) =>
    configs.map((config) => ({ source: "FromClass" as const, requests: names, ...config })),
  );
}

/** Configurations of the claim, once per matching request. */
function claimConfigs(
  { spec }: ResourceClaim,
  requests: readonly PreparedRequest[],
): AllocatedConfiguration[] {
  return (spec.devices?.config ?? []).flatMap(({ requests: names = [], ...config }) => {
    const source = "FromClaim" as const;
    if (names.length === 0) return [{ source, ...config }];
    const matching = requests.filter(
      ({ name, fullName }) => names.includes(name.request) || names.includes(fullName),
    );
    return matching.map(() => ({ source, requests: names, ...config }));
  });
}

/** Node selector for all devices; undefined = all nodes. */
function nodeSelectorOf(candidates: readonly Candidate[]): NodeSelector | undefined {
  const matchFields: Requirement[] = [];
  const matchExpressions: Requirement[] = [];
  for (const { device, slice } of candidates) {
    const selection = slice.spec.perDeviceNodeSelection === true ? device : slice.spec;
    if (selection.nodeName) return onNode(selection.nodeName);
    const terms = selection.nodeSelector?.nodeSelectorTerms ?? [];
    if (terms.length > 1) {
      const message = `unsupported ResourceSlice.NodeSelector with ${terms.length} terms`;
      throw new AllocationFault(message);
    }
    addNew(matchFields, terms[0]?.matchFields);
    addNew(matchExpressions, terms[0]?.matchExpressions);
  }
  if (matchFields.length + matchExpressions.length === 0) return undefined;
  const term = {
    ...(matchExpressions.length === 0 ? {} : { matchExpressions }),
    ...(matchFields.length === 0 ? {} : { matchFields }),
  };
  return { nodeSelectorTerms: [term] };
}

function onNode(name: string): NodeSelector {
  const matchFields = [{ key: "metadata.name", operator: "In", values: [name] }];
  return { nodeSelectorTerms: [{ matchFields }] };
}

/** Adds requirements that are not yet present. */
function addNew(to: Requirement[], from: readonly Requirement[] = []): void {
  const keyOf = ({ key, operator, values = [] }: Requirement) =>
    JSON.stringify([key, operator, [...new Set(values)].sort()]);
  const present = new Set(to.map(keyOf));
  for (const each of from) {
    if (present.has(keyOf(each))) continue;
    present.add(keyOf(each));
    to.push(each);
  }
}

import {
  namespaceOf,
  type Node,
  type NodeSelectorTerm,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  type StorageClass,
  storageClasses,
} from "#kinds";
import { resolve } from "#meta";
import { actions, type EventResource } from "../../framework/cluster-events.ts";
import type { Plugin, PreFilterResult } from "../../framework/contract.ts";
import type { PluginHandle } from "../../framework/handle.ts";
import { errorStatus, skip, unresolvable } from "../../framework/status.ts";
import { matchesTerms } from "../helper/node-affinity.ts";
import { bindClaims } from "./bind-claims.ts";

const name = "VolumeBinding";
const nodeConflict = unresolvable(name, "node(s) had volume node affinity conflict");
const noVolumeToBind = unresolvable(
  name,
  "node(s) didn't find available persistent volumes to bind",
);
const unboundImmediate = "pod has unbound immediate PersistentVolumeClaims";

/** Claims of the pod by whether they are bound. */
interface ClaimState {
  readonly bound: readonly PersistentVolumeClaim[];
  /** Bound or provisioned only once a node is chosen. */
  readonly delayed: readonly PersistentVolumeClaim[];
}

/**
 * Places pods where their volumes are, and tells the node to the provisioners of claims that wait
 * for it. Unbound claims are provisioned; existing volumes are not matched to them.
 */
export function volumeBinding(handle: PluginHandle): Plugin {
  const { informers, domain } = handle;
  const claims = informers.of(persistentVolumeClaims);
  const volumes = informers.of(persistentVolumes);
  const classes = informers.of(storageClasses(domain));
  const noProvisioner = resolve("{label}/no-provisioner", domain);
  const fits = (claim: PersistentVolumeClaim, node: Node) => {
    const terms = volumes.get(claim.spec?.volumeName ?? "")?.spec?.nodeAffinity?.required;
    return terms === undefined || matchesTerms(terms.nodeSelectorTerms ?? [], node);
  };
  const canProvision = (claim: PersistentVolumeClaim, node: Node) => {
    const found = classes.get(claim.spec?.storageClassName ?? "");
    if (found === undefined || found.provisioner === noProvisioner) return false;
    const terms = topologyTerms(found);
    return terms.length === 0 || matchesTerms(terms, node);
  };
  const isDelayed = ({ spec }: PersistentVolumeClaim) =>
    classes.get(spec?.storageClassName ?? "")?.volumeBindingMode === "WaitForFirstConsumer";
  return {
    name,
    preFilter: ({ state, pod }): PreFilterResult | undefined => {
      const names = claimNamesOf(pod);
      if (names.length === 0) return { status: skip };
      const found: PersistentVolumeClaim[] = [];
      for (const { claim: claimName, isEphemeral } of names) {
        const claim = claims.get(`${namespaceOf(pod)}/${claimName}`);
        if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) {
          return { status: unresolvable(name, missing(claimName, isEphemeral, claim)) };
        }
        found.push(claim);
      }
      const bound = found.filter(
        ({ spec, status }) => spec?.volumeName && status?.phase === "Bound",
      );
      const unbound = found.filter((claim) => !bound.includes(claim));
      const delayed = unbound.filter(isDelayed);
      if (delayed.length < unbound.length) return { status: unresolvable(name, unboundImmediate) };
      state.write(name, { bound, delayed } satisfies ClaimState);
      return undefined;
    },
    filter: ({ state }, { node }) => {
      const { bound, delayed } = state.read<ClaimState>(name)!;
      if (!bound.every((claim) => fits(claim, node!))) return nodeConflict;
      return delayed.every((claim) => canProvision(claim, node!)) ? undefined : noVolumeToBind;
    },
    preBind: async ({ state }, node) => {
      const { delayed = [] } = state.read<ClaimState>(name) ?? {};
      if (delayed.length === 0) return undefined;
      try {
        await bindClaims(handle, claims, { delayed, node });
        return undefined;
      } catch (error) {
        return errorStatus(name, error);
      }
    },
    events: eventsOf(["PersistentVolumeClaim", "PersistentVolume", "StorageClass"]),
  };
}

function eventsOf(resources: readonly EventResource[]) {
  const changes = resources.map((resource) => ({
    resource,
    action: actions.add | actions.update,
  }));
  return [...changes, { resource: "Node" as const, action: actions.add | actions.nodeLabel }];
}

/** Names of the claims of the pod's volumes; those of ephemeral volumes bear the pod's name. */
function claimNamesOf({ metadata, spec }: Pod) {
  return (spec?.volumes ?? []).flatMap(({ name: volume, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim !== undefined) {
      return [{ claim: persistentVolumeClaim.claimName, isEphemeral: false }];
    }
    const claim = `${metadata.name}-${volume}`;
    return ephemeral === undefined ? [] : [{ claim, isEphemeral: true }];
  });
}

function missing(
  claimName: string,
  isEphemeral: boolean,
  claim: PersistentVolumeClaim | undefined,
): string {
  if (claim !== undefined) return `persistentvolumeclaim "${claimName}" is being deleted`;
  return isEphemeral
    ? `waiting for ephemeral volume controller to create the persistentvolumeclaim ` +
        `"${claimName}"`
    : `persistentvolumeclaim "${claimName}" not found`;
}

/** Topologies in which a class provisions, as terms of a node selector. */
function topologyTerms({ allowedTopologies = [] }: StorageClass): NodeSelectorTerm[] {
  return allowedTopologies.map(({ matchLabelExpressions = [] }) => ({
    matchExpressions: matchLabelExpressions.map((each) => ({ ...each, operator: "In" })),
  }));
}

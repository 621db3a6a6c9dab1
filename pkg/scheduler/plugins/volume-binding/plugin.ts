import { deepEqual } from "#base";
import {
  type CsiDriver,
  type CsiNode,
  type CsiStorageCapacity,
  namespaceOf,
  type PersistentVolumeClaim,
  type Pod,
  type StorageClass,
} from "#kinds";
import { actions, type EventRegistration } from "../../framework/cluster-events.ts";
import type { Plugin, PreFilterResult, SchedulingContext } from "../../framework/contract.ts";
import type { PluginHandle } from "../../framework/handle.ts";
import { errorStatus, skip, unresolvable } from "../../framework/status.ts";
import type { CsiMigration } from "../helper/csi-migration.ts";
import { foreignClaim, notFound, usedClaims, usesClaim } from "../helper/pod-claims.ts";
import { bindVolumes } from "./bind-volumes.ts";
import { type PodClaims, type PodVolumes, PodVolumeFinder } from "./pod-volumes.ts";
import { isTracked, volumeLimit } from "./storage-capacity.ts";

const name = "VolumeBinding";

export interface VolumeBindingArgs {
  /** Timeout of binding a pod's claims. */
  readonly bindTimeoutMs: number;
}

/** State of one scheduling cycle. */
interface State {
  readonly claims: PodClaims;
  readonly byNode: Map<string, PodVolumes>;
}

/**
 * VolumeBinding: selects nodes that can access the pod's volumes. Binds claims with WaitForFirstConsumer to
 * existing volumes, or requests provisioning for the selected node.
 */
export function volumeBinding(handle: PluginHandle, { bindTimeoutMs }: VolumeBindingArgs): Plugin {
  const finder = new PodVolumeFinder(handle);
  const fail = (operation: string, error: unknown) => {
    const metric = "scheduler_volume_scheduling_stage_error_total";
    handle.instruments.add(metric, { operation }, 1);
    return errorStatus(name, error);
  };
  return {
    name,
    preFilter: (context) => preFilter(finder, context),
    filter: ({ state }, { node }) => {
      const { claims, byNode } = state.read<State>(name)!;
      try {
        const found = finder.find(claims, node!);
        if (!("bindings" in found)) return unresolvable(name, ...found);
        byNode.set(node!.metadata.name, found);
        return undefined;
      } catch (error) {
        return fail("predicate", error);
      }
    },
    reserve: ({ state }, node) => {
      const { claims, byNode } = state.read<State>(name) ?? {};
      const found = byNode?.get(node);
      if (found === undefined || claims?.delayed.length === 0) return undefined;
      try {
        byNode!.set(node, finder.assume(found, node));
        return undefined;
      } catch (error) {
        byNode!.delete(node);
        return fail("assume", error);
      }
    },
    unreserve: ({ state }, node) => {
      const found = state.read<State>(name)?.byNode.get(node);
      if (found !== undefined) finder.revert(found);
    },
    preBind: async ({ state, pod }, node) => {
      const { claims, byNode } = state.read<State>(name) ?? {};
      const volumes = byNode?.get(node);
      if (volumes === undefined || claims?.delayed.length === 0) return undefined;
      try {
        await bindVolumes(handle, finder, { pod, node, volumes, timeoutMs: bindTimeoutMs });
        return undefined;
      } catch (error) {
        return fail("bind", error);
      }
    },
    events: eventsOf(finder.migration),
  };
}

function preFilter(
  finder: PodVolumeFinder,
  { state, pod }: SchedulingContext,
): PreFilterResult | undefined {
  if (usedClaims(pod).length === 0) return { status: skip };
  const reason = claimFault(finder, pod);
  if (reason !== undefined) return { status: unresolvable(name, reason) };
  try {
    const claims = finder.claimsOf(pod);
    if (claims.immediate.length > 0) {
      const text = "pod has unbound immediate PersistentVolumeClaims";
      return { status: unresolvable(name, text) };
    }
    state.write(name, { claims, byNode: new Map() } satisfies State);
    return undefined;
  } catch (error) {
    return { status: errorStatus(name, error) };
  }
}

/** Reason why the claims of the pod are unusable on every node; undefined = none. */
function claimFault(finder: PodVolumeFinder, pod: Pod): string | undefined {
  for (const { name: claimName, isEphemeral } of usedClaims(pod)) {
    const claim = finder.claims.informer.get(`${namespaceOf(pod)}/${claimName}`);
    const quoted = JSON.stringify(claimName);
    if (claim === undefined) {
      return isEphemeral
        ? `waiting for ephemeral volume controller to create the persistentvolumeclaim ${quoted}`
        : notFound(claimName);
    }
    if (claim.status?.phase === "Lost") {
      const volume = JSON.stringify(claim.spec?.volumeName ?? "");
      return `persistentvolumeclaim ${quoted} bound to non-existent persistentvolume ${volume}`;
    }
    if (claim.metadata.deletionTimestamp !== undefined) {
      return `persistentvolumeclaim ${quoted} is being deleted`;
    }
    const foreign = isEphemeral ? foreignClaim(pod, claim) : undefined;
    if (foreign !== undefined) return foreign;
  }
  return undefined;
}

function eventsOf(migration: CsiMigration): readonly EventRegistration[] {
  const changes = actions.add | actions.update;
  return [
    {
      resource: "StorageClass",
      action: changes,
      hint: (_pod, { before, after }) =>
        before === undefined ||
        !deepEqual(
          (before as StorageClass).allowedTopologies,
          (after as StorageClass).allowedTopologies,
        ),
    },
    {
      resource: "PersistentVolumeClaim",
      action: changes,
      hint: (pod, { after }) => usesClaim(pod, after as PersistentVolumeClaim),
    },
    { resource: "PersistentVolume", action: changes },
    { resource: "Node", action: actions.add | actions.updateNodeLabel },
    {
      resource: "CSINode",
      action: changes,
      hint: (_pod, { before, after }) =>
        before === undefined || migration.hasChanged(before as CsiNode, after as CsiNode),
    },
    {
      resource: "CSIDriver",
      action: actions.update,
      hint: (pod, { before, after }) => {
        const isUsed = pod.spec?.volumes?.some(({ csi }) => csi?.driver === after?.metadata.name);
        return isUsed === true && isTracked(before as CsiDriver) && !isTracked(after as CsiDriver);
      },
    },
    {
      resource: "CSIStorageCapacity",
      action: changes,
      hint: (_pod, { before, after }) => {
        if (before === undefined) return true;
        const now = volumeLimit(after as CsiStorageCapacity);
        const old = volumeLimit(before as CsiStorageCapacity);
        return now !== undefined && (old === undefined || now.compare(old) > 0);
      },
    },
  ];
}

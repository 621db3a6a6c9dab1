import type { Handle } from "#client";
import {
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  type Node,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  pods,
  priorityOf,
  storageClasses,
  volumeAttachments,
} from "#kinds";
import type { Domain } from "#meta";
import type { Cache } from "./cache/cache.ts";
import {
  actions,
  assignedPodDelete,
  type ClusterEvent,
  type EventResource,
  nodeUpdateEvents,
  podUpdateEvents,
} from "./framework/cluster-events.ts";
import type { PluginInformers } from "./framework/handle.ts";
import { livePods } from "./framework/live-pods.ts";
import type { Nominator } from "./framework/nominator.ts";
import { podInfoOf } from "./framework/pod-info.ts";
import type { SchedulingQueue } from "./queue/scheduling-queue.ts";

interface HandlerParts {
  readonly informers: PluginInformers;
  readonly cache: Cache;
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  /** Whether one of the profiles schedules the pod. */
  readonly isResponsible: (pod: Pod) => boolean;
}

const assignedPodAdd: ClusterEvent = {
  resource: "Pod",
  action: actions.add,
  label: "AssignedPodAdd",
};
const nodeAdd: ClusterEvent = { resource: "Node", action: actions.add, label: "NodeAdd" };
const nodeDelete: ClusterEvent = { resource: "Node", action: actions.delete, label: "NodeDelete" };

/** Keeps cache and queue up to date with nodes and pods. */
export function watchNodesAndPods(parts: HandlerParts): void {
  const handlers = new EventHandlers(parts);
  parts.informers.of(nodes).subscribe((event) => {
    const before = event.type === "updated" ? event.before : undefined;
    if (event.type === "deleted") handlers.nodeDeleted(event.object);
    else handlers.nodeChanged(before, event.object);
  });
  parts.informers.of(pods, livePods).subscribe((event) => {
    const before = event.type === "updated" ? event.before : undefined;
    if (event.type === "deleted") handlers.podChanged(event.object, undefined);
    else handlers.podChanged(before, event.object);
  });
}

/** Kinds other than nodes and pods whose changes may wake pods. */
const sources: Partial<Record<EventResource, (domain: Domain) => Handle>> = {
  PersistentVolume: () => persistentVolumes,
  PersistentVolumeClaim: () => persistentVolumeClaims,
  StorageClass: storageClasses,
  CSINode: csiNodes,
  CSIDriver: csiDrivers,
  CSIStorageCapacity: csiStorageCapacities,
  VolumeAttachment: volumeAttachments,
};

/** Wakes pods by changes of the other kinds that plugins name. */
export function watchOtherKinds(
  { informers, queue }: Pick<HandlerParts, "informers" | "queue">,
  resources: Iterable<EventResource>,
  domain: Domain,
): void {
  for (const resource of new Set(resources)) {
    const source = sources[resource];
    if (source === undefined) continue;
    const eventOf = (action: "add" | "update" | "delete", title: string): ClusterEvent => ({
      resource,
      action: actions[action],
      label: `${resource}${title}`,
    });
    const events = {
      added: eventOf("add", "Add"),
      updated: eventOf("update", "Update"),
      deleted: eventOf("delete", "Delete"),
    };
    informers.of(source(domain)).subscribe((change) => {
      const { type, object } = change;
      const before = type === "updated" ? change.before : type === "deleted" ? object : undefined;
      const after = type === "deleted" ? undefined : object;
      queue.moveAll({ event: events[type], before, after });
    });
  }
}

class EventHandlers {
  constructor(private readonly parts: HandlerParts) {}

  nodeChanged(before: Node | undefined, after: Node): void {
    const { cache, queue } = this.parts;
    cache.setNode(after);
    const events = before === undefined ? [nodeAdd] : nodeUpdateEvents(before, after);
    for (const event of events) queue.moveAll({ event, before, after });
  }

  nodeDeleted(node: Node): void {
    const { cache, queue } = this.parts;
    cache.removeNode(node.metadata.name);
    queue.moveAll({ event: nodeDelete, before: node, after: undefined });
  }

  podChanged(before: Pod | undefined, after: Pod | undefined): void {
    const { isResponsible } = this.parts;
    const isPending = (pod: Pod | undefined) =>
      pod !== undefined && !isAssigned(pod) && isResponsible(pod);
    this.assignedChanged(
      isAssigned(before) ? before : undefined,
      isAssigned(after) ? after : undefined,
    );
    this.pendingChanged(
      isPending(before) ? before : undefined,
      isPending(after) ? after : undefined,
    );
  }

  private assignedChanged(before: Pod | undefined, after: Pod | undefined): void {
    const { cache, queue } = this.parts;
    if (after !== undefined) {
      cache.setPod(podInfoOf(after));
      const events = before === undefined ? [assignedPodAdd] : podUpdateEvents(before, after);
      for (const event of events) queue.moveAll({ event, before, after });
    } else if (before !== undefined) {
      cache.removePod(before);
      queue.moveAll({ event: assignedPodDelete, before, after });
    }
  }

  private pendingChanged(before: Pod | undefined, after: Pod | undefined): void {
    const { cache, queue, nominator } = this.parts;
    if (after === undefined) {
      if (before !== undefined) this.pendingGone(before);
    } else if (before === undefined) {
      queue.add(after);
      nominator.set(podInfoOf(after), after.status?.nominatedNodeName ?? "");
    } else if (!cache.isAssumed(after)) {
      const events = podUpdateEvents(before, after);
      const changes = events.map((event) => ({ event, before, after }));
      nominator.update(before, queue.update(after, changes));
      const nominated = before.status?.nominatedNodeName ?? "";
      const isMoved = nominated !== "" && nominated !== after.status?.nominatedNodeName;
      if (isMoved) this.freed(before);
    }
  }

  private pendingGone(pod: Pod): void {
    const { queue, nominator } = this.parts;
    queue.delete(pod);
    nominator.delete(pod);
    if (pod.status?.nominatedNodeName) this.freed(pod);
  }

  /** A nominated pod counted as placed for pods of its priority and below. */
  private freed(pod: Pod): void {
    const isBelow = (other: Pod) => priorityOf(other) <= priorityOf(pod);
    this.parts.queue.moveAll({ event: assignedPodDelete, before: pod, after: undefined }, isBelow);
  }
}

function isAssigned(pod: Pod | undefined): boolean {
  return !!pod?.spec?.nodeName;
}

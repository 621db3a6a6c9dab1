import type { Clock } from "#base";
import type { ApiObject, Handle } from "#client";
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
import type { Instruments } from "#request";
import type { Cache } from "./cache/cache.ts";
import {
  assignedPodAdd,
  assignedPodDelete,
  assignedPodUpdate,
  type ClusterChange,
  type ClusterEvent,
  eventOf,
  type EventResource,
  nodeUpdateEvents,
  podUpdateEvents,
  unscheduledPodAdd,
  unscheduledPodDelete,
  unscheduledPodUpdate,
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
  readonly latency: EventLatency;
  /** Whether a profile of this scheduler is responsible for the pod. */
  readonly isResponsible: (pod: Pod) => boolean;
}

const nodeAdd = eventOf("Node", "add");
const nodeDelete = eventOf("Node", "delete");

/** Updates cache and queue from events of nodes and pods. */
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

/** Kinds other than nodes and pods whose events may requeue pods. */
const sources = {
  PersistentVolume: () => persistentVolumes,
  PersistentVolumeClaim: () => persistentVolumeClaims,
  StorageClass: storageClasses,
  CSINode: csiNodes,
  CSIDriver: csiDrivers,
  CSIStorageCapacity: csiStorageCapacities,
  VolumeAttachment: volumeAttachments,
} as const satisfies Partial<Record<EventResource, (domain: Domain) => Handle>>;

type OtherKind = keyof typeof sources;

/** Requeues pods on events of other kinds for which plugins have registered. */
export function watchOtherKinds(
  { informers, queue, latency }: Pick<HandlerParts, "informers" | "queue" | "latency">,
  resources: Iterable<EventResource>,
  domain: Domain,
): void {
  const isOther = (resource: string): resource is OtherKind => Object.hasOwn(sources, resource);
  for (const resource of [...new Set(resources)].filter(isOther)) {
    const events = {
      added: eventOf(resource, "add"),
      updated: eventOf(resource, "update"),
      deleted: eventOf(resource, "delete"),
    };
    informers.of<ApiObject>(sources[resource](domain)).subscribe((change) => {
      const { type, object } = change;
      const before = type === "updated" ? change.before : type === "deleted" ? object : undefined;
      const after = type === "deleted" ? undefined : object;
      const event = events[type];
      latency.during([event], () => queue.moveAll({ event, before, after }));
    });
  }
}

/** Observes the duration of event handling. */
export class EventLatency {
  private readonly observers = new Map<string, (seconds: number) => void>();

  constructor(
    private readonly instruments: Instruments,
    private readonly clock: Clock,
  ) {}

  /** Runs `work` and observes its duration for each of the handled events. */
  during(events: readonly ClusterEvent[], work: () => void): void {
    const began = this.clock.monotonic();
    work();
    const seconds = (this.clock.monotonic() - began) / 1_000;
    for (const { label } of events) this.observerOf(label)(seconds);
  }

  private observerOf(event: string): (seconds: number) => void {
    const known = this.observers.get(event);
    if (known !== undefined) return known;
    const metric = "scheduler_event_handling_duration_seconds";
    const made = this.instruments.observer(metric, { event });
    this.observers.set(event, made);
    return made;
  }
}

class EventHandlers {
  constructor(private readonly parts: HandlerParts) {}

  nodeChanged(before: Node | undefined, after: Node): void {
    const { cache } = this.parts;
    const events = before === undefined ? [nodeAdd] : nodeUpdateEvents(before, after);
    this.parts.latency.during(events, () => {
      cache.setNode(after);
      this.move(events, before, after);
    });
  }

  nodeDeleted(node: Node): void {
    this.parts.latency.during([nodeDelete], () => {
      this.parts.cache.removeNode(node.metadata.name);
      this.move([nodeDelete], node, undefined);
    });
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
    const { cache, latency } = this.parts;
    if (after !== undefined) {
      const changes = before === undefined ? [] : podUpdateEvents(before, after);
      const events = before === undefined ? [assignedPodAdd] : changes;
      const told = before === undefined ? events : withEvent(assignedPodUpdate, changes);
      latency.during(told, () => {
        cache.setPod(podInfoOf(after));
        this.move(events, before, after);
      });
    } else if (before !== undefined) {
      latency.during([assignedPodDelete], () => {
        cache.removePod(before);
        this.move([assignedPodDelete], before, undefined);
      });
    }
  }

  private move(
    events: readonly ClusterEvent[],
    before: ClusterChange["before"],
    after: ClusterChange["after"],
  ): void {
    for (const event of events) this.parts.queue.moveAll({ event, before, after });
  }

  private pendingChanged(before: Pod | undefined, after: Pod | undefined): void {
    const { queue, nominator, latency } = this.parts;
    if (after === undefined) {
      if (before === undefined) return;
      latency.during([unscheduledPodDelete], () => this.pendingGone(before));
    } else if (before === undefined) {
      latency.during([unscheduledPodAdd], () => {
        queue.add(after);
        nominator.set(podInfoOf(after), after.status?.nominatedNodeName ?? "");
      });
    } else {
      const events = podUpdateEvents(before, after);
      const told = withEvent(unscheduledPodUpdate, events);
      latency.during(told, () => this.pendingUpdated(before, after, events));
    }
  }

  private pendingUpdated(before: Pod, after: Pod, events: readonly ClusterEvent[]): void {
    const { cache, queue, nominator } = this.parts;
    if (cache.isAssumed(after)) return;
    const changes = events.map((event) => ({ event, before, after }));
    nominator.update(before, queue.update(after, changes));
    const nominated = before.status?.nominatedNodeName ?? "";
    const isMoved = nominated !== "" && nominated !== after.status?.nominatedNodeName;
    if (isMoved) this.freed(before);
  }

  private pendingGone(pod: Pod): void {
    const { queue, nominator } = this.parts;
    queue.delete(pod);
    nominator.delete(pod);
    if (pod.status?.nominatedNodeName) this.freed(pod);
  }

  /** Requeues pods after a nomination ended: it occupied the node for lower or equal priorities. */
  private freed(pod: Pod): void {
    const isBelow = (other: Pod) => priorityOf(other) <= priorityOf(pod);
    this.parts.queue.moveAll({ event: assignedPodDelete, before: pod, after: undefined }, isBelow);
  }
}

/** The generic update event, followed by the events of its specific changes. */
function withEvent(whole: ClusterEvent, events: readonly ClusterEvent[]): readonly ClusterEvent[] {
  return [whole, ...events.filter(({ label }) => label !== whole.label)];
}

function isAssigned(pod: Pod | undefined): boolean {
  return !!pod?.spec?.nodeName;
}

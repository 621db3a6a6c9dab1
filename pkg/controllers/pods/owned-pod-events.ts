import { deepEqual } from "#base";
import {
  type ApiObject,
  type Informer,
  type InformerEvent,
  objectKey,
  type OwnerReference,
} from "#client";
import { ByNamespace } from "../by-namespace.ts";
import type { Pod } from "../kinds/pod.ts";
import { controllerOf } from "../owners/controller-ref.ts";
import type { Expectations } from "./expectations.ts";

export interface OwnedPodEventOptions<T extends ApiObject> {
  readonly pods: Informer<Pod>;
  readonly owners: Informer<T>;
  /** Kind of the owners. */
  readonly kind: string;
  /** Whether an owner would adopt a pod with these labels. */
  readonly matches: (owner: T, labels: Readonly<Record<string, string>>) => boolean;
  /** Told of creations and deletions of pods, the latter by key of the pod. */
  readonly expectations?: Expectations;
  /** Told of an owner whose pods have changed; absent `pod` = an orphan that it may adopt. */
  readonly changed: (owner: T, pod?: InformerEvent<Pod>) => void;
}

/**
 * Reports changes of pods to the workloads of one kind that control them, and orphans to the
 * workloads that may adopt them. Pods that terminate count as deleted.
 */
export function watchOwnedPods<T extends ApiObject>(options: OwnedPodEventOptions<T>): void {
  const events = new OwnedPodEvents(options);
  options.pods.subscribe((change) => events.handle(change));
}

class OwnedPodEvents<T extends ApiObject> {
  private readonly ownersIn: ByNamespace<T>;

  constructor(private readonly options: OwnedPodEventOptions<T>) {
    this.ownersIn = new ByNamespace(options.owners);
  }

  handle(change: InformerEvent<Pod>): void {
    const { type, object: pod } = change;
    if (type === "deleted" || pod.metadata.deletionTimestamp !== undefined) this.deleted(change);
    else if (type === "added") this.added(change);
    else this.updated(change, change.before);
  }

  private added(change: InformerEvent<Pod>): void {
    const pod = change.object;
    const reference = controllerOf(pod);
    if (reference === undefined) return this.orphaned(pod);
    const owner = this.owner(pod, reference);
    if (owner === undefined) return;
    this.options.expectations?.observeCreations(objectKey(owner));
    this.options.changed(owner, change);
  }

  private updated(change: InformerEvent<Pod>, before: Pod): void {
    const pod = change.object;
    const reference = controllerOf(pod);
    const previous = controllerOf(before);
    const isOther = !deepEqual(reference, previous);
    if (isOther && previous !== undefined) {
      const owner = this.owner(before, previous);
      if (owner !== undefined) this.options.changed(owner, change);
    }
    if (reference !== undefined) {
      const owner = this.owner(pod, reference);
      if (owner !== undefined) this.options.changed(owner, change);
    } else if (isOther || !deepEqual(pod.metadata.labels, before.metadata.labels)) {
      this.orphaned(pod);
    }
  }

  private deleted(change: InformerEvent<Pod>): void {
    const pod = change.object;
    const reference = controllerOf(pod);
    const owner = reference && this.owner(pod, reference);
    if (owner === undefined) return;
    this.options.expectations?.observeDeletion(objectKey(owner), objectKey(pod));
    this.options.changed(owner, change);
  }

  private orphaned({ metadata }: Pod): void {
    const { namespace = "", labels = {} } = metadata;
    for (const owner of this.ownersIn.in(namespace)) {
      if (this.options.matches(owner, labels)) this.options.changed(owner);
    }
  }

  /** The owner as the informer has it, unless it is another of that name. */
  private owner({ metadata }: Pod, { kind, name, uid }: OwnerReference): T | undefined {
    if (kind !== this.options.kind) return undefined;
    const found = this.options.owners.get(`${metadata.namespace ?? ""}/${name}`);
    return found?.metadata.uid === uid ? found : undefined;
  }
}

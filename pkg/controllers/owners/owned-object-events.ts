import { deepEqual } from "#base";
import {
  type ApiObject,
  type Informer,
  type InformerEvent,
  objectKey,
  type OwnerReference,
} from "#client";
import { ByNamespace } from "../by-namespace.ts";
import { controllerOf } from "./controller-ref.ts";
import type { Expectations } from "./expectations.ts";

export interface OwnedObjectEventOptions<O extends ApiObject, T extends ApiObject> {
  /** Informer of the owned objects, e.g. pods. */
  readonly objects: Informer<O>;
  readonly owners: Informer<T>;
  /** Kind of the owners. */
  readonly kind: string;
  /** Whether an owner would adopt an object with these labels. */
  readonly matches: (owner: T, labels: Readonly<Record<string, string>>) => boolean;
  /** Observes creations and deletions of the objects. */
  readonly expectations?: Expectations;
  /** Called with the owner of a changed object; `change` absent = an orphan that the owner may adopt. */
  readonly changed: (owner: T, change?: InformerEvent<O>) => void;
}

/**
 * Calls `changed` for the controller of each changed object, if of this kind, and for the owners whose
 * selector matches an orphan. Terminating objects count as deleted.
 */
export function watchOwned<O extends ApiObject, T extends ApiObject>(
  options: OwnedObjectEventOptions<O, T>,
): void {
  const events = new OwnedObjectEvents(options);
  options.objects.subscribe((change) => events.handle(change));
}

class OwnedObjectEvents<O extends ApiObject, T extends ApiObject> {
  private readonly ownersIn: ByNamespace<T>;

  constructor(private readonly options: OwnedObjectEventOptions<O, T>) {
    this.ownersIn = new ByNamespace(options.owners);
  }

  handle(change: InformerEvent<O>): void {
    const { type, object } = change;
    if (type === "deleted" || object.metadata.deletionTimestamp !== undefined) this.deleted(change);
    else if (type === "added") this.added(change);
    else this.updated(change, change.before);
  }

  private added(change: InformerEvent<O>): void {
    const { object } = change;
    const reference = controllerOf(object);
    if (reference === undefined) return this.orphaned(object);
    const owner = this.owner(object, reference);
    if (owner === undefined) return;
    this.options.expectations?.observeCreations(objectKey(owner));
    this.options.changed(owner, change);
  }

  private updated(change: InformerEvent<O>, before: O): void {
    const { object } = change;
    const reference = controllerOf(object);
    const previous = controllerOf(before);
    const isOther = !deepEqual(reference, previous);
    if (isOther && previous !== undefined) {
      const owner = this.owner(before, previous);
      if (owner !== undefined) this.options.changed(owner, change);
    }
    if (reference !== undefined) {
      const owner = this.owner(object, reference);
      if (owner !== undefined) this.options.changed(owner, change);
    } else if (isOther || !deepEqual(object.metadata.labels, before.metadata.labels)) {
      this.orphaned(object);
    }
  }

  private deleted(change: InformerEvent<O>): void {
    const { object } = change;
    const reference = controllerOf(object);
    const owner = reference && this.owner(object, reference);
    if (owner === undefined) return;
    this.options.expectations?.observeDeletion(objectKey(owner), objectKey(object));
    this.options.changed(owner, change);
  }

  private orphaned({ metadata }: O): void {
    const { namespace = "", labels = {} } = metadata;
    for (const owner of this.ownersIn.in(namespace)) {
      if (this.options.matches(owner, labels)) this.options.changed(owner);
    }
  }

  /** The referenced owner, if its uid matches. */
  private owner({ metadata }: O, { kind, name, uid }: OwnerReference): T | undefined {
    if (kind !== this.options.kind) return undefined;
    const found = this.options.owners.get(`${metadata.namespace ?? ""}/${name}`);
    return found?.metadata.uid === uid ? found : undefined;
  }
}

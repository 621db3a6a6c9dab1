import { type ApiObject, type Informer, objectKey } from "#client";

/**
 * Responses of this controller's writes, until the informer shows them (kube-controller-manager's
 * MutationCache). Acting on an older status would repeat the last sync.
 */
export class WrittenObjects<T extends ApiObject> {
  private readonly written = new Map<string, T>();

  constructor(private readonly informer: Informer<T>) {
    informer.subscribe(({ type, object }) => {
      const key = objectKey(object);
      const known = this.written.get(key);
      if (known === undefined) return;
      if (type === "deleted" || !isNewer(known, object)) this.written.delete(key);
    });
  }

  /** Called with the response of a write. */
  add(object: T): void {
    const key = objectKey(object);
    const cached = this.informer.get(key);
    if (cached !== undefined && isNewer(object, cached)) this.written.set(key, object);
  }

  /** Newest known state of a key; undefined = the object does not exist. */
  latest(key: string): T | undefined {
    const cached = this.informer.get(key);
    return cached === undefined ? undefined : this.newest(cached);
  }

  /** Newest known state of a cached object. */
  newest(cached: T): T {
    const known = this.written.get(objectKey(cached));
    return known !== undefined && isNewer(known, cached) ? known : cached;
  }
}

/** Whether `object` is a newer state of the same object. */
function isNewer({ metadata }: ApiObject, other: ApiObject): boolean {
  if (metadata.uid !== other.metadata.uid) return false;
  return BigInt(metadata.resourceVersion) > BigInt(other.metadata.resourceVersion);
}

import { type ApiObject, type Informer, objectKey } from "#client";

/**
 * Objects as this controller has written them last, for as long as the informer shows older ones. A
 * controller that acted on its older status would do its last work again.
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
    const shown = this.informer.get(key);
    if (shown !== undefined && isNewer(object, shown)) this.written.set(key, object);
  }

  /** The newest known state; undefined = the object is gone. */
  latest(key: string): T | undefined {
    const shown = this.informer.get(key);
    return shown === undefined ? undefined : this.newest(shown);
  }

  /** The newest known state of an object that the informer shows. */
  newest(shown: T): T {
    const known = this.written.get(objectKey(shown));
    return known !== undefined && isNewer(known, shown) ? known : shown;
  }
}

/** Whether `object` is a newer state of the same object. */
function isNewer({ metadata }: ApiObject, other: ApiObject): boolean {
  if (metadata.uid !== other.metadata.uid) return false;
  return BigInt(metadata.resourceVersion) > BigInt(other.metadata.resourceVersion);
}

import { type ApiObject, type Informer, objectKey } from "#client";

/**
 * Objects of an informer, overlaid with assumed states of planned writes. A newer state in the informer
 * replaces an assumed one.
 */
export class AssumeCache<T extends ApiObject> {
  private readonly assumed = new Map<string, T>();

  constructor(readonly informer: Informer<T>) {
    informer.subscribe(({ type, object }) => {
      const key = objectKey(object);
      const known = this.assumed.get(key);
      if (known === undefined) return;
      if (type === "deleted" || !isSameState(known, object)) this.assumed.delete(key);
    });
  }

  get(key: string): T | undefined {
    const shown = this.informer.get(key);
    return shown === undefined ? undefined : (this.assumed.get(key) ?? shown);
  }

  *all(): Iterable<T> {
    for (const shown of this.informer.all()) yield this.assumed.get(objectKey(shown)) ?? shown;
  }

  /** Assumes an object. @throws if the informer has another version than the object is based on */
  assume(object: T): void {
    const key = objectKey(object);
    const shown = this.informer.get(key);
    if (shown === undefined || !isSameState(shown, object)) {
      throw new Error(`"${key}" is out of sync: it has changed since it was read`);
    }
    this.assumed.set(key, object);
  }

  restore(key: string): void {
    this.assumed.delete(key);
  }
}

function isSameState({ metadata }: ApiObject, other: ApiObject): boolean {
  return (
    metadata.uid === other.metadata.uid &&
    metadata.resourceVersion === other.metadata.resourceVersion
  );
}

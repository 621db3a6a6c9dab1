import { type ApiObject, type Informer, objectKey } from "#client";

/** The objects of an informer by namespace. */
export class ByNamespace<T extends ApiObject> {
  private readonly namespaces = new Map<string, Map<string, T>>();

  constructor(informer: Informer<T>) {
    informer.subscribe(({ type, object }) => {
      const { namespace = "" } = object.metadata;
      const objects = this.namespaces.get(namespace) ?? new Map<string, T>();
      if (type === "deleted") objects.delete(objectKey(object));
      else objects.set(objectKey(object), object);
      if (objects.size === 0) this.namespaces.delete(namespace);
      else this.namespaces.set(namespace, objects);
    });
  }

  in(namespace: string): Iterable<T> {
    return this.namespaces.get(namespace)?.values() ?? [];
  }
}

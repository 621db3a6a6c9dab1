import type { ApiObject, Informer } from "#client";
import { controllerOf } from "./controller-ref.ts";

/** Name of the index; all users of an informer share it. */
const index = "controller";

/** The objects of an informer by their controller, and the orphans of each namespace. */
export class OwnedObjects<T extends ApiObject> {
  constructor(private readonly informer: Informer<T>) {
    informer.addIndex(index, (object) => {
      const owner = controllerOf(object);
      return [owner === undefined ? orphansOf(object) : owner.uid];
    });
  }

  /** Objects whose controller is `owner`. */
  of({ metadata }: ApiObject): readonly T[] {
    return this.informer.indexed(index, metadata.uid);
  }

  /** Objects whose controller has this uid. */
  ofUid(uid: string): readonly T[] {
    return this.informer.indexed(index, uid);
  }

  /** Objects without a controller in the namespace of `owner`. */
  orphansBeside(owner: ApiObject): readonly T[] {
    return this.informer.indexed(index, orphansOf(owner));
  }
}

/** No uid has a slash. */
function orphansOf({ metadata }: ApiObject): string {
  return `orphans/${metadata.namespace ?? ""}`;
}

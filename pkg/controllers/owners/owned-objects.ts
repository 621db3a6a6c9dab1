import type { ApiObject, Informer } from "#client";
import { controllerOf } from "./controller-ref.ts";

/** Name of the index, shared by all users of an informer. */
const index = "controller";

/** Index of an informer's objects by controller uid, and of the orphans by namespace. */
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

  /** Objects that `owner` controls, and those without a controller that it may adopt. */
  candidates(owner: ApiObject): readonly T[] {
    return [...this.of(owner), ...this.orphansFor(owner)];
  }

  /** Objects without a controller in the namespace of `owner`. */
  orphansFor(owner: ApiObject): readonly T[] {
    return this.informer.indexed(index, orphansOf(owner));
  }
}

/** Index value of the orphans of a namespace; the slash keeps it distinct from uids. */
function orphansOf({ metadata }: ApiObject): string {
  return `orphans/${metadata.namespace ?? ""}`;
}

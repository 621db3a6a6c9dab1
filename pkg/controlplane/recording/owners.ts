import { randomUuid, printJson } from "#base";
import type { ReadObject } from "./read-recording.ts";

/**
 * Makes the uids and ownerReferences of a recording agree: an object without a uid gets one, a
 * reference without a uid gets that of the named object, and a reference to an object that is not
 * in the recording is dropped, because the garbage collector would delete the dependent. A
 * reference by the uid of a deleted object whose name is in use again is kept. Returns a message
 * per dropped reference.
 */
export function alignOwners(objects: readonly ReadObject[]): readonly string[] {
  const uids = new Set<string>();
  const byName = new Map<string, string>();
  for (const { object } of objects) {
    const { metadata } = object;
    metadata["uid"] ||= randomUuid();
    uids.add(metadata["uid"]);
    byName.set(nameKey(object, metadata["namespace"] ?? ""), metadata["uid"]);
  }
  return objects.flatMap(({ file, object: { metadata } }) => {
    const references = metadata["ownerReferences"];
    if (!Array.isArray(references)) return [];
    const namespace = metadata["namespace"] ?? "";
    const dropped: string[] = [];
    metadata["ownerReferences"] = references.flatMap((reference) => {
      const { uid, kind, name } = reference ?? {};
      if (uids.has(uid)) return [reference];
      const named = ownerUid(byName, reference, namespace);
      if (named !== undefined) return [uid ? reference : { ...reference, uid: named }];
      dropped.push(`${file}: dropped the owner reference to ${kind} ${name}, which does not exist`);
      return [];
    });
    return dropped;
  });
}

/** Uid of an owner, which is in the namespace of its dependent or cluster-scoped. */
function ownerUid(
  byName: ReadonlyMap<string, string>,
  { apiVersion, kind, name }: any,
  namespace: string,
): string | undefined {
  const owner = { apiVersion, kind, metadata: { name } };
  return byName.get(nameKey(owner, namespace)) ?? byName.get(nameKey(owner, ""));
}

/** Key of an object by group, kind and name; versions of a group name the same object. */
function nameKey({ apiVersion, kind, metadata }: any, namespace: string): string {
  const text = String(apiVersion);
  const group = text.includes("/") ? text.slice(0, text.indexOf("/")) : "";
  return printJson([group, kind, namespace, metadata.name]);
}

import { deepEqual, OpaqueJson, printJson } from "#base";
import type { ControllerRevision, PodTemplateSpec } from "#kinds";
import { fnv1, safeEncode } from "../../pods/template-hash.ts";

/** Data, names and order of ControllerRevisions. */

/** Maximum number of characters of the workload's name in the names of its revisions. */
const maxPrefixLength = 223;

/**
 * Patch that sets the template of a workload. Its keys are sorted as in Go's JSON, since clients compare
 * the data of revisions byte by byte.
 */
export function templatePatch(template: PodTemplateSpec): object {
  return canonical({ spec: { template: { ...template, $patch: "replace" } } }) as object;
}

/** Template that a revision's patch sets; undefined = none. */
export function templateOf({ data }: ControllerRevision): PodTemplateSpec | undefined {
  const patch = OpaqueJson.valueOf(data) as
    | { readonly spec?: { readonly template?: PodTemplateSpec & { $patch?: string } } }
    | undefined;
  if (patch?.spec?.template === undefined) return undefined;
  const { $patch: _directive, ...template } = patch.spec.template;
  return template;
}

/** Whether two patches are equal. `null`, which earlier versions wrote, equals absent. */
export function isSameData(left: unknown, right: unknown): boolean {
  return deepEqual(canonical(left), canonical(right));
}

/** Hash of a patch, by kube-controller-manager's algorithm for StatefulSets. */
export function dataHash(data: object, collisionCount: number): string {
  const text = printJson(canonical(data)).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return safeEncode(fnv1(Buffer.from(text + collisionCount)));
}

export function revisionName(workload: string, hash: string): string {
  return `${workload.slice(0, maxPrefixLength)}-${hash}`;
}

/** Older revisions first. */
export function byRevision(left: ControllerRevision, right: ControllerRevision): number {
  const created = ({ metadata }: ControllerRevision) =>
    Date.parse(metadata.creationTimestamp ?? "");
  return (
    (left.revision > right.revision ? 1 : left.revision < right.revision ? -1 : 0) ||
    created(left) - created(right) ||
    (left.metadata.name < right.metadata.name ? -1 : 1)
  );
}

/** Sorts keys and removes null values, recursively. */
function canonical(value: unknown): unknown {
  const plain = OpaqueJson.valueOf(value);
  if (Array.isArray(plain)) return plain.map(canonical);
  if (typeof plain !== "object" || plain === null) return plain;
  const entries = Object.entries(plain)
    .filter(([, inner]) => inner !== null && inner !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, canonical(inner)]));
}

import { memoize } from "#base";
import { type FieldFilter, setOf } from "#fieldmanager";
import type { Kind } from "#meta";

/**
 * The fields that writes through a subresource ("" = the main resource) track in managedFields: all but
 * those that they reset (GetResetFields of Kubernetes' strategies).
 */
export function trackedFieldsOf(kind: Kind, subresource: string): FieldFilter {
  return trackedFieldsByKind(kind)(subresource);
}

const trackedFieldsByKind = memoize((kind: Kind) => {
  const scopes = new Map<string, FieldFilter>();
  return (subresource: string): FieldFilter => {
    let scope = scopes.get(subresource);
    if (scope === undefined) {
      scope = compileTrackedFields(kind, subresource);
      scopes.set(subresource, scope);
    }
    return scope;
  };
});

function compileTrackedFields(kind: Kind, subresource: string): FieldFilter {
  const { resets } = kind.rules;
  const hasStatus = kind.subresources.some(({ name }) => name === "status");
  const usual = subresource === "status" ? ["spec"] : hasStatus ? ["status"] : [];
  const ignored = setOf(...(resets?.[subresource] ?? usual).map(pathElements));
  // The strategy of a custom resource resets fields of its own version only.
  return kind.custom === undefined ? { ignored } : { ignored, ofVersion: true };
}

/** `status.conditions` -> `["f:status", "f:conditions"]`. */
function pathElements(path: string): string[] {
  return path.split(".").map((name) => `f:${name}`);
}

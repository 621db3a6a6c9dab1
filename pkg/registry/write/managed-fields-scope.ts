import { memoize } from "#base";
import { type Scope, setOf } from "#fieldmanager";
import type { Kind } from "#meta";

/** What an endpoint of a kind ("" for the main one) leaves as it is, and so gives to nobody. */
export function scopeOf(kind: Kind, subresource: string): Scope {
  return scopesOf(kind)(subresource);
}

const scopesOf = memoize((kind: Kind) => {
  const scopes = new Map<string, Scope>();
  return (subresource: string): Scope => {
    let scope = scopes.get(subresource);
    if (scope === undefined) {
      scope = makeScope(kind, subresource);
      scopes.set(subresource, scope);
    }
    return scope;
  };
});

function makeScope(kind: Kind, subresource: string): Scope {
  const { resets, writes } = kind.rules;
  const only = writes?.[subresource];
  if (only !== undefined) return { only: only.map(elements) };
  const hasStatus = kind.subresources.some(({ name }) => name === "status");
  const usual = subresource === "status" ? ["spec"] : hasStatus ? ["status"] : [];
  return { ignored: setOf(...(resets?.[subresource] ?? usual).map(elements)) };
}

/** `spec.containers.*.image` -> its steps. */
function elements(path: string): string[] {
  return path.split(".").map((name) => (name === "*" ? name : `f:${name}`));
}

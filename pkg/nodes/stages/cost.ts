/** Characters that cost as much as one value. */
const charactersPerStep = 64;
/** Maximum nesting of values; functions that walk through them are recursive. */
const maxDepth = 1_000;

/**
 * Cost in steps of going through a value: one for each contained value, and for each 64 characters. A value
 * that is contained repeatedly counts each time. Infinity = more than `limit`, or nested too deeply.
 */
export function costOf(value: unknown, limit: number): number {
  let cost = 0;
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return Infinity;
    const next: unknown[] = [];
    for (const each of level) {
      cost += 1 + textCost(each);
      if (typeof each === "object" && each !== null) cost += addMembers(each, next, limit - cost);
      if (cost > limit) return Infinity;
    }
    level = next;
  }
  return cost;
}

/** Adds the members of a list or map; returns the cost of its keys, Infinity if there are too many. */
function addMembers(value: object, members: unknown[], limit: number): number {
  if (Array.isArray(value)) {
    if (value.length > limit) return Infinity;
    for (const each of value) members.push(each);
    return 0;
  }
  let cost = 0;
  for (const [key, member] of Object.entries(value)) {
    members.push(member);
    cost += textCost(key);
  }
  return members.length > limit ? Infinity : cost;
}

function textCost(value: unknown): number {
  return typeof value === "string" ? Math.floor(value.length / charactersPerStep) : 0;
}

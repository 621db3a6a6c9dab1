import { Written } from "#schema";

/** A patch that cannot be applied; the message is Kubernetes'. */
export class PatchFault extends Error {
  override readonly name = "PatchFault";
  constructor(
    message: string,
    /**
     * What a client is answered with: 400 for a malformed patch, 413 for too much work, 500 where
     * the reference says no more.
     */
    readonly code: 400 | 413 | 422 | 500 = 422,
  ) {
    super(message);
  }
}

export type JsonObject = Record<string, unknown>;

export function isJsonObject(value: unknown): value is JsonObject {
  if (typeof value !== "object" || value === null) return false;
  return !Array.isArray(value) && !(value instanceof Written);
}

/** Maximum depth of patches, as merging is recursive. */
const maxDepth = 1_000;

/** @throws PatchFault for values that are nested too deeply */
export function checkDepth(value: unknown): void {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) throw new PatchFault(`patch exceeds the depth of ${maxDepth}`, 400);
    const next: unknown[] = [];
    for (const element of level) {
      if (typeof element !== "object" || element === null) continue;
      for (const inner of Object.values(element)) {
        if (typeof inner === "object" && inner !== null) next.push(inner);
      }
    }
    level = next;
  }
}

/**
 * Budget of one patch, in list elements: a patch can refer to one long list many thousand times.
 */
export class WorkBudget {
  constructor(private left: number) {}

  /** Throws PatchFault when all is spent. */
  spend(elements: number): void {
    this.left -= elements;
    if (this.left < 0) throw new PatchFault("patch touches too many elements of lists", 413);
  }
}

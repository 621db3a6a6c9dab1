import { Written } from "#schema";

/** A patch that does not apply to the document; the message says why in Kubernetes' words. */
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

/** Merging recurses, so what a client sends must not be deeper than the stack allows. */
const DEEPEST = 1_000;

/** Throws PatchFault for values nested deeper than any object of the API is. */
export function checkDepth(value: unknown): void {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEEPEST) throw new PatchFault(`patch exceeds the depth of ${DEEPEST}`, 400);
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
 * What one patch may cost, in elements of lists: a patch can name one long list many thousand
 * times.
 */
export class Work {
  constructor(private left: number) {}

  /** Throws PatchFault when all is spent. */
  spend(elements: number): void {
    this.left -= elements;
    if (this.left < 0) throw new PatchFault("patch touches too many elements of lists", 413);
  }
}

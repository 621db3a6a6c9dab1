import { type Transformed, TransformFault, type Transformer, startsWith } from "./transformer.ts";

/**
 * The transformers of one set of resources: the first one encrypts, all decrypt. A value that
 * another one than the first decrypts is stale and should be rewritten.
 */
export class PrefixTransformers {
  readonly #sealers: readonly Transformer[];

  /** `sealers` holds at least one transformer; the first one encrypts. */
  constructor(sealers: readonly Transformer[]) {
    this.#sealers = sealers;
  }

  transformToStorage(plain: Uint8Array, key: string): Uint8Array | Promise<Uint8Array> {
    return this.#sealers[0]!.transformToStorage(plain, key);
  }

  /** Throws TransformFault when no key fits. */
  transformFromStorage(stored: Uint8Array, key: string): Transformed | Promise<Transformed> {
    return this.#openFrom(0, { stored, key, faults: [] });
  }

  #openFrom(start: number, attempt: Attempt): Transformed | Promise<Transformed> {
    const { stored, key, faults } = attempt;
    for (let index = start; index < this.#sealers.length; index++) {
      const { prefix } = this.#sealers[index]!;
      if (!startsWith(stored, prefix)) continue;
      try {
        const opened = this.#sealers[index]!.transformFromStorage(
          stored.subarray(prefix.length),
          key,
        );
        if (!(opened instanceof Promise)) return markStale(opened, index);
        return opened.then(
          (value) => markStale(value, index),
          (error: unknown) => {
            faults.push(messageOf(error));
            return this.#openFrom(index + 1, attempt);
          },
        );
      } catch (error) {
        faults.push(messageOf(error));
      }
    }
    throw new TransformFault(faults.length === 0 ? "no matching prefix found" : faults.join(", "));
  }
}

interface Attempt {
  readonly stored: Uint8Array;
  readonly key: string;
  readonly faults: string[];
}

function markStale(opened: Transformed, index: number): Transformed {
  return index === 0 || opened.stale ? opened : { ...opened, stale: true };
}

/** Rethrows every error but a TransformFault. */
function messageOf(error: unknown): string {
  if (error instanceof TransformFault) return error.message;
  throw error;
}

import { type Transformed, TransformFault, type Transformer, startsWith } from "./transformer.ts";

/**
 * The transformers of a set of resources: the first one encrypts, all decrypt. A value that is not
 * decrypted by the first one is stale.
 */
export class PrefixTransformers {
  readonly #transformers: readonly Transformer[];

  /** `transformers` has at least one element. */
  constructor(transformers: readonly Transformer[]) {
    this.#transformers = transformers;
  }

  transformToStorage(plain: Uint8Array, key: string): Uint8Array | Promise<Uint8Array> {
    return this.#transformers[0]!.transformToStorage(plain, key);
  }

  /** @throws TransformFault if no transformer decrypts the value */
  transformFromStorage(stored: Uint8Array, key: string): Transformed | Promise<Transformed> {
    return this.#decryptFrom(0, { stored, key, faults: [] });
  }

  #decryptFrom(start: number, attempt: Attempt): Transformed | Promise<Transformed> {
    const { stored, key, faults } = attempt;
    for (let index = start; index < this.#transformers.length; index++) {
      const { prefix } = this.#transformers[index]!;
      if (!startsWith(stored, prefix)) continue;
      try {
        const decrypted = this.#transformers[index]!.transformFromStorage(
          stored.subarray(prefix.length),
          key,
        );
        if (!(decrypted instanceof Promise)) return markStale(decrypted, index);
        return decrypted.then(
          (value) => markStale(value, index),
          (error: unknown) => {
            faults.push(messageOf(error));
            return this.#decryptFrom(index + 1, attempt);
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

function markStale(decrypted: Transformed, index: number): Transformed {
  return index === 0 || decrypted.stale ? decrypted : { ...decrypted, stale: true };
}

/** The message of a TransformFault; rethrows other errors. */
function messageOf(error: unknown): string {
  if (error instanceof TransformFault) return error.message;
  throw error;
}

import { type Opened, SealFault, type Sealer, startsWith } from "./transformer.ts";

/**
 * The keys of one set of resources: the first one writes, all read. A value that another than the
 * first opened is stale: it wants to be written anew.
 */
export class Keyring {
  readonly #sealers: readonly Sealer[];

  /** At least one. */
  constructor(sealers: readonly Sealer[]) {
    this.#sealers = sealers;
  }

  seal(plain: Uint8Array, key: string): Uint8Array | Promise<Uint8Array> {
    return this.#sealers[0]!.seal(plain, key);
  }

  /** Throws SealFault when no key fits. */
  open(stored: Uint8Array, key: string): Opened | Promise<Opened> {
    return this.#openFrom(0, { stored, key, faults: [] });
  }

  #openFrom(start: number, attempt: Attempt): Opened | Promise<Opened> {
    const { stored, key, faults } = attempt;
    for (let index = start; index < this.#sealers.length; index++) {
      const { prefix } = this.#sealers[index]!;
      if (!startsWith(stored, prefix)) continue;
      try {
        const opened = this.#sealers[index]!.open(stored.subarray(prefix.length), key);
        if (!(opened instanceof Promise)) return orStale(opened, index);
        return opened.then(
          (value) => orStale(value, index),
          (error: unknown) => {
            faults.push(faultText(error));
            return this.#openFrom(index + 1, attempt);
          },
        );
      } catch (error) {
        faults.push(faultText(error));
      }
    }
    throw new SealFault(faults.length === 0 ? "no matching prefix found" : faults.join(", "));
  }
}

interface Attempt {
  readonly stored: Uint8Array;
  readonly key: string;
  readonly faults: string[];
}

function orStale(opened: Opened, index: number): Opened {
  return index === 0 || opened.stale ? opened : { ...opened, stale: true };
}

/** Anything else than a SealFault is a bug and goes its way. */
function faultText(error: unknown): string {
  if (error instanceof SealFault) return error.message;
  throw error;
}

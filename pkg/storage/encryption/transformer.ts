/** What every way of encrypting values shares. */

/** Stands before every encrypted value; values that are not encrypted begin otherwise. */
const encryptedPrefix = "k8s:enc:";

/** Why a value cannot be opened, or one cannot be sealed now. */
export class TransformFault extends Error {
  override readonly name = "TransformFault";
}

/** One key, or one key service: seals values and opens those whose prefix is its own. */
export interface Transformer {
  /** `k8s:enc:<algorithm>:<version>:<key>:`; "" for values as they are. */
  readonly prefix: string;
  /**
   * Throws TransformFault. `key` is the place of the value in the store; it is authenticated where the
   * algorithm can, so that a value copied elsewhere does not open there.
   */
  transformToStorage(plain: Uint8Array, key: string): Uint8Array | Promise<Uint8Array>;
  /** `sealed` goes without the prefix. Throws TransformFault. */
  transformFromStorage(sealed: Uint8Array, key: string): Transformed | Promise<Transformed>;
}

export interface Transformed {
  readonly value: Uint8Array;
  /** Written with a key that is not in use for writing any more. */
  readonly stale: boolean;
}

/** The value as it is. Tried on encrypted values, too: then another one has to open them. */
export const identity: Transformer = {
  prefix: "",
  transformToStorage: (plain) => plain,
  transformFromStorage(sealed) {
    if (!isEncrypted(sealed)) return { value: sealed, stale: false };
    throw new TransformFault("identity transformer tried to read encrypted data");
  },
};

export function isEncrypted(value: Uint8Array): boolean {
  return startsWith(value, encryptedPrefix);
}

export function startsWith(value: Uint8Array, prefix: string): boolean {
  if (value.byteLength < prefix.length) return false;
  for (let index = 0; index < prefix.length; index++) {
    if (value[index] !== prefix.charCodeAt(index)) return false;
  }
  return true;
}

/** Prefix of all encrypted values, and of no other values. */
const encryptedPrefix = "k8s:enc:";

/** A value cannot be decrypted or encrypted. */
export class TransformFault extends Error {
  override readonly name = "TransformFault";
}

/** Encrypts values with a key or a KMS plugin, and decrypts those with its prefix. */
export interface Transformer {
  /** `k8s:enc:<algorithm>:<version>:<key>:`; "" for unencrypted values. */
  readonly prefix: string;
  /**
   * Encrypts a value. `key` is its storage key; authenticated algorithms bind the value to it, so that a
   * value that is copied to another key cannot be decrypted.
   * @throws TransformFault
   */
  transformToStorage(plain: Uint8Array, key: string): Uint8Array | Promise<Uint8Array>;
  /**
   * Decrypts a value without its prefix.
   * @throws TransformFault
   */
  transformFromStorage(sealed: Uint8Array, key: string): Transformed | Promise<Transformed>;
}

export interface Transformed {
  readonly value: Uint8Array;
  /** Whether the value is encrypted with a key that is not used for writes any more. */
  readonly stale: boolean;
}

/** Stores values unencrypted; rejects encrypted ones, which another transformer must decrypt. */
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

import { type Cipher } from "./aes.ts";
import { type Transformer } from "./transformer.ts";

/** A transformer with a cipher, and a prefix of its algorithm and key name. */
export function cipherTransformer(algorithm: string, name: string, cipher: Cipher): Transformer {
  const prefix = `k8s:enc:${algorithm}:v1:${name}:`;
  return {
    prefix,
    transformToStorage: (plain, key) =>
      Buffer.concat([Buffer.from(prefix), cipher.encrypt(plain, key)]),
    transformFromStorage: (stored, key) => ({ value: cipher.decrypt(stored, key), stale: false }),
  };
}

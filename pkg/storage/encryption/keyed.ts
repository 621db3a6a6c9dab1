import { type Cipher } from "./aes.ts";
import { type Transformer } from "./transformer.ts";

/** A cipher under the prefix of its algorithm and the name of its key. */
export function cipherTransformer(algorithm: string, name: string, cipher: Cipher): Transformer {
  const prefix = `k8s:enc:${algorithm}:v1:${name}:`;
  return {
    prefix,
    transformToStorage: (plain, key) =>
      Buffer.concat([Buffer.from(prefix), cipher.encrypt(plain, key)]),
    transformFromStorage: (sealed, key) => ({ value: cipher.decrypt(sealed, key), stale: false }),
  };
}

import { type Cipher } from "./aes.ts";
import { type Sealer } from "./transformer.ts";

/** A cipher under the prefix of its algorithm and the name of its key. */
export function keyed(algorithm: string, name: string, cipher: Cipher): Sealer {
  const prefix = `k8s:enc:${algorithm}:v1:${name}:`;
  return {
    prefix,
    seal: (plain, key) => Buffer.concat([Buffer.from(prefix), cipher.seal(plain, key)]),
    open: (sealed, key) => ({ value: cipher.open(sealed, key), stale: false }),
  };
}

import { randomBytes } from "node:crypto";
import { xsalsa20poly1305 } from "@noble/ciphers/salsa.js";
import type { Cipher } from "./aes.ts";
import { TransformFault } from "./transformer.ts";

const nonceBytes = 24;

/** XSalsa20 and Poly1305 as in NaCl: nonce, tag, ciphertext. `secret` has 32 bytes. */
export function secretbox(secret: Uint8Array): Cipher {
  return {
    encrypt(plain) {
      const nonce = randomBytes(nonceBytes);
      return Buffer.concat([nonce, xsalsa20poly1305(secret, nonce).encrypt(plain)]);
    },
    decrypt(sealed) {
      if (sealed.byteLength < nonceBytes) {
        throw new TransformFault("the stored data was shorter than the required size");
      }
      const box = xsalsa20poly1305(secret, sealed.subarray(0, nonceBytes));
      try {
        return Buffer.from(box.decrypt(sealed.subarray(nonceBytes)));
      } catch {
        throw new TransformFault("the value could not be authenticated: wrong key or damaged data");
      }
    },
  };
}

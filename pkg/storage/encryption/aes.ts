import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { TransformFault } from "./transformer.ts";

/** Encrypts values with one secret. Authenticated ciphers bind a value to its storage `key`. */
export interface Cipher {
  encrypt(plain: Uint8Array, key: string): Buffer;
  /** @throws TransformFault if the value cannot be decrypted */
  decrypt(sealed: Uint8Array, key: string): Buffer;
}

const nonceBytes = 12;
const tagBytes = 16;
const blockBytes = 16;
const infoBytes = 32;
const tooShort = "the stored data was shorter than the required size";

/**
 * AES-GCM: nonce, ciphertext, tag. With random nonces of 12 bytes, a key must be rotated after 2^32
 * writes. `secret` has 16, 24 or 32 bytes.
 */
export function aesGcm(secret: Uint8Array): Cipher {
  const algorithm = `aes-${secret.byteLength * 8}-gcm` as "aes-256-gcm";
  return {
    encrypt(plain, key) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, secret, nonce);
      cipher.setAAD(Buffer.from(key));
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    decrypt(sealed, key) {
      if (sealed.byteLength < nonceBytes + tagBytes) throw new TransformFault(tooShort);
      const end = sealed.byteLength - tagBytes;
      const nonce = sealed.subarray(0, nonceBytes);
      const decipher = createDecipheriv(algorithm, secret, nonce, { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(key));
      decipher.setAuthTag(sealed.subarray(end));
      const start = decipher.update(sealed.subarray(nonceBytes, end));
      return Buffer.concat([start, finalBytes(decipher, "cipher: message authentication failed")]);
    },
  };
}

/** AES-CBC with PKCS#7 padding: initialization vector, ciphertext. Unauthenticated. */
export function aesCbc(secret: Uint8Array): Cipher {
  const algorithm = `aes-${secret.byteLength * 8}-cbc`;
  return {
    encrypt(plain) {
      const vector = randomBytes(blockBytes);
      const cipher = createCipheriv(algorithm, secret, vector);
      return Buffer.concat([vector, cipher.update(plain), cipher.final()]);
    },
    decrypt(sealed) {
      if (sealed.byteLength < 2 * blockBytes) throw new TransformFault(tooShort);
      if (sealed.byteLength % blockBytes !== 0) {
        throw new TransformFault("the stored data is not a multiple of the block size");
      }
      const decipher = createDecipheriv(algorithm, secret, sealed.subarray(0, blockBytes));
      const start = decipher.update(sealed.subarray(blockBytes));
      return Buffer.concat([start, finalBytes(decipher, "invalid padding on input")]);
    },
  };
}

/**
 * AES-GCM with a key per value, derived from the seed and 32 random bytes that are stored before the
 * value, so that the number of writes per seed is not limited.
 */
export function derivedKeyGcm(seed: Uint8Array): Cipher {
  return {
    encrypt(plain, key) {
      const info = randomBytes(infoBytes);
      return Buffer.concat([info, aesGcm(derivedKey(seed, info)).encrypt(plain, key)]);
    },
    decrypt(sealed, key) {
      if (sealed.byteLength < infoBytes) throw new TransformFault(tooShort);
      const info = sealed.subarray(0, infoBytes);
      return aesGcm(derivedKey(seed, info)).decrypt(sealed.subarray(infoBytes), key);
    },
  };
}

/** One block of HKDF-Expand (RFC 5869, 2.3) with SHA-256; a random seed needs no extraction. */
function derivedKey(seed: Uint8Array, info: Uint8Array): Buffer {
  return createHmac("sha256", seed).update(info).update(Uint8Array.of(1)).digest();
}

function finalBytes(decipher: { final(): Buffer }, message: string): Buffer {
  try {
    return decipher.final();
  } catch {
    // OpenSSL's messages differ between versions.
    throw new TransformFault(message);
  }
}

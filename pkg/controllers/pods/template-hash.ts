import { printGoPodTemplate } from "./go-pod-template.ts";

/** Alphabet of `rand.SafeEncodeString`: no vowels, and no digits that look like them. */
const safeAlphabet = "bcdfghjklmnpqrstvwxz2456789";

const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;

/**
 * Kubernetes' hash of a defaulted pod template: label `pod-template-hash` of Deployments and
 * `controller-revision-hash` of DaemonSets. `collisionCount` avoids collisions.
 */
export function podTemplateHash(template: object, collisionCount?: number): string {
  const hash = fnv1a(offsetBasis, Buffer.from(printGoPodTemplate(template)));
  if (collisionCount === undefined) return safeEncode(hash);
  const count = Buffer.alloc(8);
  count.writeUInt32LE(collisionCount);
  return safeEncode(fnv1a(hash, count));
}

/** Encodes a decimal number with `safeAlphabet`, like Kubernetes' `rand.SafeEncodeString`. */
export function safeEncode(hash: number): string {
  return String(hash).replace(/\d/g, (digit) => safeAlphabet[digit.charCodeAt(0) % 27]!);
}

function fnv1a(basis: number, bytes: Uint8Array): number {
  let hash = basis;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, prime);
  return hash >>> 0;
}

/** 32-bit FNV-1: multiplies before it XORs a byte (FNV-1a does the reverse). */
export function fnv1(bytes: Uint8Array): number {
  let hash = offsetBasis;
  for (const byte of bytes) hash = Math.imul(hash, prime) ^ byte;
  return hash >>> 0;
}

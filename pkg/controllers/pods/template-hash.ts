import { printGoPodTemplate } from "./go-pod-template.ts";

/** Letters and digits of generated names: no vowels, and nothing that looks like one. */
const safeAlphabet = "bcdfghjklmnpqrstvwxz2456789";

const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;

/**
 * Hash of a defaulted pod template, equal to that of Kubernetes: the label `pod-template-hash` of
 * Deployments and `controller-revision-hash` of DaemonSets. `collisionCount` tells apart templates
 * with the same hash.
 */
export function podTemplateHash(template: object, collisionCount?: number): string {
  const hash = fnv1a(offsetBasis, Buffer.from(printGoPodTemplate(template)));
  if (collisionCount === undefined) return safeEncode(hash);
  const count = Buffer.alloc(8);
  count.writeUInt32LE(collisionCount);
  return safeEncode(fnv1a(hash, count));
}

/** A number in decimal, each digit replaced by a letter or digit that generated names may have. */
export function safeEncode(hash: number): string {
  return String(hash).replace(/\d/g, (digit) => safeAlphabet[digit.charCodeAt(0) % 27]!);
}

function fnv1a(basis: number, bytes: Uint8Array): number {
  let hash = basis;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, prime);
  return hash >>> 0;
}

/** 32-bit FNV-1, which multiplies before it mixes in a byte. */
export function fnv1(bytes: Uint8Array): number {
  let hash = offsetBasis;
  for (const byte of bytes) hash = Math.imul(hash, prime) ^ byte;
  return hash >>> 0;
}

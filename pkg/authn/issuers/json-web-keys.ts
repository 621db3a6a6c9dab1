import { createPublicKey, type JsonWebKey } from "node:crypto";
import { algorithmsOf, type VerifyingKey } from "../jwt/signing-keys.ts";

const maxKeys = 100;

/**
 * Verifying keys of a JSON Web Key Set (RFC 7517), one per key and allowed algorithm. Skips keys that cannot
 * verify tokens, including symmetric ones, since the key set is public.
 * @throws Error for an invalid key set
 */
export function webKeys(document: unknown, allowed: readonly string[]): readonly VerifyingKey[] {
  const { keys } = (document ?? {}) as { readonly keys?: unknown };
  if (!Array.isArray(keys)) throw new Error("the response is no JSON Web Key Set");
  return keys.slice(0, maxKeys).flatMap((key) => verifyingKeys(key, allowed));
}

function verifyingKeys(key: unknown, allowed: readonly string[]): readonly VerifyingKey[] {
  if (typeof key !== "object" || key === null) return [];
  const { kty, kid, use, alg } = key as Readonly<Record<string, unknown>>;
  if (kty === "oct" || (use !== undefined && use !== "sig")) return [];
  const id = typeof kid === "string" ? kid : "";
  try {
    const publicKey = createPublicKey({ key: key as JsonWebKey, format: "jwk" });
    return algorithmsOf(publicKey)
      .filter((name) => allowed.includes(name) && (alg === undefined || alg === name))
      .map((algorithm) => ({ id, algorithm, publicKey }));
  } catch {
    // Skips an unsupported or weak key; others of the set may be usable.
    return [];
  }
}

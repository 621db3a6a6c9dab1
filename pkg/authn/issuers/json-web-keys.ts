import { createPublicKey, type JsonWebKey } from "node:crypto";
import { algorithmsOf, type VerifyingKey } from "../jwt/signing-keys.ts";

const mostKeys = 100;

/**
 * The keys of a JSON Web Key Set (RFC 7517), one entry for each algorithm that tokens may name with
 * them. Keys that cannot verify tokens are left out, symmetric ones among them: a token signed with
 * a text that everybody can read proves nothing.
 * @throws Error for what is no key set
 */
export function webKeys(document: unknown, allowed: readonly string[]): readonly VerifyingKey[] {
  const { keys } = (document ?? {}) as { readonly keys?: unknown };
  if (!Array.isArray(keys)) throw new Error("the answer is no JSON Web Key Set");
  return keys.slice(0, mostKeys).flatMap((key) => verifyingKeys(key, allowed));
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
    // A key of a kind that Node does not know, or a weak one: others of the set may be good.
    return [];
  }
}

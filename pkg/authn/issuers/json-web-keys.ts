import { createPublicKey, type JsonWebKey } from "node:crypto";
import { type JsonObject, TypedFields } from "#base";
import { algorithmsOf, type VerifyingKey } from "../jwt/signing-keys.ts";

const maxKeys = 100;

/**
 * Verifying keys of a JSON Web Key Set (RFC 7517), one per key and allowed algorithm. Skips keys that cannot
 * verify tokens, including symmetric ones, since the key set is public.
 * @throws Error for an invalid key set, also if a field of a single key has another type
 */
export function webKeys(document: unknown, allowed: readonly string[]): readonly VerifyingKey[] {
  const set = TypedFields.of(document, "jose.JSONWebKeySet", { ignoresCase: true });
  if (!set.has("keys")) throw new Error("the response is no JSON Web Key Set");
  set.objects("keys");
  return set
    .list("keys")
    .slice(0, maxKeys)
    .flatMap((key) => verifyingKeys((key ?? {}) as JsonObject, allowed));
}

function verifyingKeys(key: JsonObject, allowed: readonly string[]): readonly VerifyingKey[] {
  const fields = TypedFields.of(key, "jose.rawJSONWebKey");
  const [kty, id] = [fields.text("kty"), fields.text("kid")];
  const [use, alg] = [fields.text("use"), fields.text("alg")];
  if (kty === "oct" || (use !== "" && use !== "sig")) return [];
  try {
    const publicKey = createPublicKey({ key: key as JsonWebKey, format: "jwk" });
    return algorithmsOf(publicKey)
      .filter((name) => allowed.includes(name) && (alg === "" || alg === name))
      .map((algorithm) => ({ id, algorithm, publicKey }));
  } catch {
    // Skips an unsupported or weak key; others of the set may be usable.
    return [];
  }
}

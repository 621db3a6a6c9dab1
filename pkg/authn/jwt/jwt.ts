/** JSON Web Tokens in their compact form (RFC 7515, 7519). */
import { sign, verify } from "node:crypto";
import { isJsonObject, parseJsonText, printJson } from "#base";
import { schemes, type SigningKey, type VerifyingKey } from "./signing-keys.ts";

export type Claims = Readonly<Record<string, unknown>>;

/** Maximum token length: tokens are parsed before they are verified. */
const maxTokenLength = 64 * 1024;

export function signToken(claims: Claims, key: SigningKey): string {
  const { algorithm, id, privateKey } = key;
  const payload = `${encode({ alg: algorithm, kid: id })}.${encode(claims)}`;
  const { hash, options } = schemes[algorithm];
  const signature = sign(hash, Buffer.from(payload), { key: privateKey, ...options });
  return `${payload}.${signature.toString("base64url")}`;
}

/** Claims of an unverified token, to find its issuer; undefined = not a JWT. */
export function unverifiedClaims(token: string): Claims | undefined {
  return readParts(token)?.claims;
}

/**
 * Claims of a token signed by one of `keys`; undefined = none. The key determines the algorithm; that in the
 * token's header must be equal.
 */
export function verifyToken(token: string, keys: readonly VerifyingKey[]): Claims | undefined {
  const parts = readParts(token);
  if (parts === undefined) return undefined;
  const { head, claims, payload, signature } = parts;
  if (head["crit"] !== undefined) return undefined;
  const { kid } = head;
  const usable = keys.filter(
    ({ id, algorithm }) => algorithm === head["alg"] && (kid === undefined || kid === id),
  );
  const isGenuine = usable.some(({ algorithm, publicKey }) => {
    const { hash, options } = schemes[algorithm];
    return verify(hash, Buffer.from(payload), { key: publicKey, ...options }, signature);
  });
  return isGenuine ? claims : undefined;
}

interface Parts {
  readonly head: Claims;
  readonly claims: Claims;
  readonly payload: string;
  readonly signature: Uint8Array;
}

function readParts(token: string): Parts | undefined {
  if (token.length > maxTokenLength) return undefined;
  const [first = "", second = "", third = "", ...more] = token.split(".");
  if (more.length > 0 || third === "") return undefined;
  const head = decode(first);
  const claims = decode(second);
  const signature = bytesOf(third);
  if (head === undefined || claims === undefined || signature === undefined) return undefined;
  return { head, claims, payload: `${first}.${second}`, signature };
}

function encode(value: unknown): string {
  return Buffer.from(printJson(value)).toString("base64url");
}

function decode(text: string): Claims | undefined {
  try {
    const value: unknown = parseJsonText(bytesOf(text)?.toString("utf8") ?? "");
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Decodes canonical base64url only, so that a token has one spelling. */
function bytesOf(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}

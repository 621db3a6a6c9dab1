import { badRequest, type Domain, resolve } from "#meta";
import { JsonFault, parseJson, withWritten, Written } from "#schema";
import { jsonType } from "../codec/json-type.ts";

/**
 * The position of a paged list: last key and revision. Encoded as in apiserver's storage package, as
 * base64url of `{"v":"meta.k8s.io/v1","rv":123,"start":"default/a\u0000"}`, so that a client can
 * continue a list at another API server.
 */
export interface ContinueToken {
  /** The revision of the list; undefined = the newest (an inconsistent continuation). */
  readonly revision: number | undefined;
  /** The last key that was read, relative to the collection's prefix. */
  readonly after: string;
}

/** `rv` of an inconsistent continuation. */
const inconsistent = -1;

function tokenVersion(domain: Domain): string {
  return resolve("meta.{api}/v1", domain);
}

export function encodeContinue({ revision, after }: ContinueToken, domain: Domain): string {
  const token = { v: tokenVersion(domain), rv: revision ?? inconsistent, start: `${after}\0` };
  return Buffer.from(JSON.stringify(token)).toString("base64url");
}

/** Throws 400 with kube-apiserver's message for a malformed token. */
export function decodeContinue(text: string, domain: Domain): ContinueToken {
  const { v, rv, start } = parseToken(text);
  const version = tokenVersion(domain);
  if (v !== version) throw malformed(`server does not recognize this encoded version ${v}`);
  if (rv === 0n) throw malformed(`incorrect encoded start resourceVersion (version ${version})`);
  if (start === "") throw malformed(`encoded start key empty (version ${version})`);
  if (!start.endsWith("\0") || !isClean(start)) throw malformed(start);
  const after = (start.startsWith("/") ? start.slice(1) : start).slice(0, -1);
  return { revision: rv < 0n ? undefined : Number(rv), after };
}

interface TokenMembers {
  readonly v: string;
  readonly rv: bigint;
  readonly start: string;
}

function parseToken(text: string): TokenMembers {
  const fault = illegalByte(text);
  if (fault !== undefined) throw malformed(`illegal base64 data at input byte ${fault}`);
  try {
    const { value } = parseJson(Buffer.from(text, "base64url"));
    return membersOf(value === null ? {} : withWritten(value));
  } catch (error) {
    if (error instanceof JsonFault) throw malformed(error.message);
    throw error;
  }
}

function membersOf(token: unknown): TokenMembers {
  if (typeof token !== "object" || token === null || Array.isArray(token)) {
    throw mismatch(token, "value of type storage.continueToken");
  }
  const { v, rv, start } = token as Readonly<Record<string, unknown>>;
  return { v: textIn("v", v), rv: revisionIn(rv), start: textIn("start", start) };
}

function textIn(field: string, value: unknown): string {
  if (typeof (value ?? "") === "string") return (value ?? "") as string;
  throw mismatch(value, `struct field continueToken.${field} of type string`);
}

const int64Bits = 64;

function revisionIn(value: unknown): bigint {
  const into = "struct field continueToken.rv of type int64";
  if (value === undefined || value === null) return 0n;
  if (typeof value === "bigint") return value;
  if (!(value instanceof Written) && typeof value !== "number") throw mismatch(value, into);
  const literal = value instanceof Written ? value.literal : String(value);
  if (!/^-?\d+$/.test(literal) || BigInt.asIntN(int64Bits, BigInt(literal)) !== BigInt(literal)) {
    throw new JsonFault(`json: cannot unmarshal number ${literal} into Go ${into}`);
  }
  return BigInt(literal);
}

function mismatch(value: unknown, into: string): JsonFault {
  const type = value instanceof Written ? "number" : jsonType(value);
  return new JsonFault(`json: cannot unmarshal ${type} into Go ${into}`);
}

/** Offset of the byte that Go's unpadded base64url decoder rejects; it skips line breaks. */
function illegalByte(text: string): number | undefined {
  const bytes = Buffer.from(text);
  let inGroup = 0;
  for (const [at, byte] of bytes.entries()) {
    if (byte === 0x0a || byte === 0x0d) continue;
    if (!/[A-Za-z0-9_-]/.test(String.fromCharCode(byte))) return at;
    inGroup = (inGroup + 1) % 4;
  }
  return inGroup === 1 ? bytes.length - 1 : undefined;
}

/** Whether a key has no empty, `.` or `..` segment: a forged key must not leave the collection. */
function isClean(key: string): boolean {
  const parts = (key.startsWith("/") ? key.slice(1) : key).split("/");
  return !parts.some((part) => part === "" || part === "." || part === "..");
}

function malformed(why: string): Error {
  return badRequest(`invalid continue token: continue key is not valid: ${why}`);
}

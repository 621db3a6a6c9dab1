import { badRequest, type Domain, resolve } from "#meta";
import { JsonFault, parseJson, withWritten, Written } from "#schema";
import { jsonType } from "../codec/json-type.ts";

/**
 * Where a list goes on: after which key, and in which state of the store. The text is base64url of
 * `{"v":"meta.k8s.io/v1","rv":123,"start":"default/a\u0000"}`, the form of Kubernetes, so that a
 * client may be handed on between servers in the middle of a list.
 */
export interface ContinueToken {
  /** The state that the list shows; undefined = the newest (an inconsistent continuation). */
  readonly revision: number | undefined;
  /** The last key that was looked at, relative to the collection's prefix. */
  readonly after: string;
}

/** How the token says "the newest state". */
const inconsistent = -1;

function formOf(domain: Domain): string {
  return resolve("meta.{api}/v1", domain);
}

export function encodeContinue({ revision, after }: ContinueToken, domain: Domain): string {
  const token = { v: formOf(domain), rv: revision ?? inconsistent, start: `${after}\0` };
  return Buffer.from(JSON.stringify(token)).toString("base64url");
}

/** Throws 400 in the words of Kubernetes for anything that no server would make. */
export function decodeContinue(text: string, domain: Domain): ContinueToken {
  const { v, rv, start } = parsed(text);
  const form = formOf(domain);
  if (v !== form) throw malformed(`server does not recognize this encoded version ${v}`);
  if (rv === 0n) throw malformed(`incorrect encoded start resourceVersion (version ${form})`);
  if (start === "") throw malformed(`encoded start key empty (version ${form})`);
  if (!start.endsWith("\0") || !isClean(start)) throw malformed(start);
  const after = (start.startsWith("/") ? start.slice(1) : start).slice(0, -1);
  return { revision: rv < 0n ? undefined : Number(rv), after };
}

interface Parsed {
  readonly v: string;
  readonly rv: bigint;
  readonly start: string;
}

function parsed(text: string): Parsed {
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

function membersOf(token: unknown): Parsed {
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

const INT64 = 64;

function revisionIn(value: unknown): bigint {
  const into = "struct field continueToken.rv of type int64";
  if (value === undefined || value === null) return 0n;
  if (typeof value === "bigint") return value;
  if (!(value instanceof Written) && typeof value !== "number") throw mismatch(value, into);
  const literal = value instanceof Written ? value.literal : String(value);
  if (!/^-?\d+$/.test(literal) || BigInt.asIntN(INT64, BigInt(literal)) !== BigInt(literal)) {
    throw new JsonFault(`json: cannot unmarshal number ${literal} into Go ${into}`);
  }
  return BigInt(literal);
}

function mismatch(value: unknown, into: string): JsonFault {
  const type = value instanceof Written ? "number" : jsonType(value);
  return new JsonFault(`json: cannot unmarshal ${type} into Go ${into}`);
}

/** The byte at which Go's unpadded base64url decoder gives up; it skips line breaks. */
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

/** A forged key must not lead out of the collection. */
function isClean(key: string): boolean {
  const parts = (key.startsWith("/") ? key.slice(1) : key).split("/");
  return !parts.some((part) => part === "" || part === "." || part === "..");
}

function malformed(why: string): Error {
  return badRequest(`invalid continue token: continue key is not valid: ${why}`);
}

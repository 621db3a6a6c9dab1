import { badRequest, type Domain, resolve } from "#meta";

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

/** Throws 400 for anything that `encodeContinue` does not make. */
export function decodeContinue(text: string, domain: Domain): ContinueToken {
  const { v, rv, start } = parsed(text);
  if (v !== formOf(domain)) throw malformed(`server does not recognize this encoded version ${v}`);
  if (!Number.isSafeInteger(rv) || (rv as number) < inconsistent || rv === 0) {
    throw malformed(`incorrect encoded start resourceVersion (version ${v})`);
  }
  if (typeof start !== "string" || !start.endsWith("\0") || !isClean(start.slice(0, -1))) {
    throw malformed(`encoded start key empty or malformed (version ${v})`);
  }
  const revision = rv === inconsistent ? undefined : (rv as number);
  return { revision, after: start.slice(0, -1) };
}

interface Parsed {
  readonly v?: unknown;
  readonly rv?: unknown;
  readonly start?: unknown;
}

function parsed(text: string): Parsed {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) throw malformed("illegal base64 data");
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
  } catch (error) {
    throw malformed(error instanceof Error ? error.message : String(error));
  }
  if (typeof value !== "object" || value === null) throw malformed("it is no object");
  return value;
}

/** A forged key must not lead out of the collection. */
function isClean(key: string): boolean {
  return key !== "" && !key.split("/").some((part) => part === "" || part === "." || part === "..");
}

function malformed(why: string): Error {
  return badRequest(`invalid continue token: continue key is not valid: ${why}`);
}

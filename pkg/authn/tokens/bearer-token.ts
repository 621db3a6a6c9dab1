import type { Credentials } from "#request";
import { unauthorized } from "../unauthorized.ts";

/**
 * The token of the Authorization header: the word after `Bearer` and one space. Undefined when
 * there is none: other schemes, a bare token and an empty one count as no credential at all.
 * @throws StatusError 401 when several Authorization headers came.
 */
export function bearerToken({ authorization }: Credentials): string | undefined {
  if (authorization.length > 1) throw unauthorized();
  const [scheme = "", token = ""] = (authorization[0] ?? "").trim().split(" ");
  return scheme.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}

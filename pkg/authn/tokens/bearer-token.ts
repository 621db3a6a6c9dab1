import type { Credentials } from "#request";
import { unauthorized } from "../unauthorized.ts";

/**
 * Token of the Authorization header after `Bearer` and one space. Undefined = none: other schemes, a bare
 * token and an empty one are no credentials.
 * @throws StatusError 401 for several Authorization headers
 */
export function bearerToken({ authorization }: Credentials): string | undefined {
  if (authorization.length > 1) throw unauthorized();
  const [scheme = "", token = ""] = (authorization[0] ?? "").trim().split(" ");
  return scheme.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}

/** Whether the Authorization header has a token after more than one space, which is ignored. */
export function hasSpacedToken({ authorization }: Credentials): boolean {
  const [scheme = "", token, ...rest] = (authorization[0] ?? "").trim().split(" ");
  return scheme.toLowerCase() === "bearer" && token === "" && rest.length > 0;
}

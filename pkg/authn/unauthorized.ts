import { StatusError } from "#meta";

/** What a client with wrong credentials is told; it never says what was wrong with them. */
export function unauthorized(): StatusError {
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: "Unauthorized",
    reason: "Unauthorized",
    code: 401,
  });
}

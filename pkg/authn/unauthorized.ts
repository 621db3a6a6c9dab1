import { StatusError } from "#meta";

/** The 401 for invalid credentials, which never says why they are invalid. */
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

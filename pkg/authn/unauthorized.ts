import { StatusError } from "#meta";

/** 401 for invalid credentials, without the reason. */
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

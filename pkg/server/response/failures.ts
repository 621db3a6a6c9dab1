/** Errors of the HTTP layer, beyond those of `#meta`. */
import {
  forbidden as forbiddenStatus,
  goQuote,
  requestEntityTooLarge,
  type Status,
  StatusError,
  timeout,
  tooManyRequests,
} from "#meta";
import type { AuthorizationAttributes, RequestInfo } from "#request";

/** 406: the route has no representation that the Accept header allows. */
export function notRepresentable(available: readonly string[]): StatusError {
  const status: Status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: `406: Not Acceptable\n\nAvailable representations: ${available.join(", ")}`,
    reason: "NotAcceptable",
    details: {},
    code: 406,
  };
  return new StatusError(status);
}

/** 413; `limit` in bytes. */
export function bodyTooLarge(limit: number): StatusError {
  return requestEntityTooLarge(`limit is ${limit}`);
}

/** 429: too many requests in flight. */
export function seatsTaken(retryAfterSeconds: number): StatusError {
  return tooManyRequests("Too many requests, please try again later.", retryAfterSeconds);
}

export function deadlineExceeded(): StatusError {
  return timeout("request did not complete within requested timeout - context deadline exceeded");
}

/** 403 with kube-apiserver's message; `reason` is the authorizers'. */
export function forbidden({ user, request }: AuthorizationAttributes, reason: string): StatusError {
  const message = `User ${goQuote(user.name)} cannot ${actionOf(request)}`;
  return forbiddenStatus(
    { group: request.group, plural: request.resource },
    request.name,
    reason === "" ? message : `${message}: ${reason}`,
  );
}

/** 403 of the authorizers; `nosniff`, since the message contains text of the client. */
export function accessDenied(attributes: AuthorizationAttributes, reason: string): StatusError {
  const { status } = forbidden(attributes, reason);
  return new StatusError(status, { "X-Content-Type-Options": "nosniff" });
}

function actionOf(request: RequestInfo): string {
  if (!request.isResource) return `${request.verb} path ${goQuote(request.path)}`;
  const resource =
    request.subresource === "" ? request.resource : `${request.resource}/${request.subresource}`;
  const where =
    request.namespace === ""
      ? "at the cluster scope"
      : `in the namespace ${goQuote(request.namespace)}`;
  return `${request.verb} resource "${resource}" in API group "${request.group}" ${where}`;
}

/** The text body of a 500 that is not a Status, with HTML characters escaped. */
export function internalErrorText(url: string, error: string): string {
  const text = `Internal Server Error: ${goQuote(url)}: ${error}`;
  const marks: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
  return `${text.replace(/[&<>]/g, (mark) => marks[mark] ?? mark)}\n`;
}

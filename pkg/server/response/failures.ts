/** What the HTTP layer itself tells clients, beyond the common failures of `#meta`. */
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

/** The route knows no representation that the Accept header names. */
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

/** `limit` in bytes. */
export function bodyTooLarge(limit: number): StatusError {
  return requestEntityTooLarge(`limit is ${limit}`);
}

export function seatsTaken(retryAfterSeconds: number): StatusError {
  return tooManyRequests("Too many requests, please try again later.", retryAfterSeconds);
}

export function deadlineExceeded(): StatusError {
  return timeout("request did not complete within requested timeout - context deadline exceeded");
}

/** 403 with the words of Kubernetes; `reason` is what the authorizers said. */
export function forbidden({ user, request }: AuthorizationAttributes, reason: string): StatusError {
  const said = `User ${goQuote(user.name)} cannot ${deed(request)}`;
  return forbiddenStatus(
    { group: request.group, plural: request.resource },
    request.name,
    reason === "" ? said : `${said}: ${reason}`,
  );
}

/** 403 of the authorizers, which browsers shall not take for anything but its content type. */
export function accessDenied(attributes: AuthorizationAttributes, reason: string): StatusError {
  const { status } = forbidden(attributes, reason);
  return new StatusError(status, { "X-Content-Type-Options": "nosniff" });
}

function deed(request: RequestInfo): string {
  if (!request.isResource) return `${request.verb} path ${goQuote(request.path)}`;
  const resource =
    request.subresource === "" ? request.resource : `${request.resource}/${request.subresource}`;
  const where =
    request.namespace === ""
      ? "at the cluster scope"
      : `in the namespace ${goQuote(request.namespace)}`;
  return `${request.verb} resource "${resource}" in API group "${request.group}" ${where}`;
}

/** The body of a 500 that is no Status; what HTML would read as a mark is written otherwise. */
export function internalErrorText(url: string, error: string): string {
  const text = `Internal Server Error: ${goQuote(url)}: ${error}`;
  const marks: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
  return `${text.replace(/[&<>]/g, (mark) => marks[mark] ?? mark)}\n`;
}

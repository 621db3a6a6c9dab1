import { printGoJson } from "#base";
import {
  escapedForHtml,
  type FieldProblem,
  maxReportedProblems,
  type ProblemType,
  type Problems,
} from "#schema";
import { goQuote } from "../encoding/go-quote.ts";
import { type StatusCause, type StatusDetails, StatusError } from "./status.ts";

/**
 * Constructors of API errors with Kubernetes' messages and codes. Each function returns the error; the
 * caller throws it.
 */

/** Group ("" is core) and plural of a resource, for messages. */
interface ResourceName {
  readonly group: string;
  readonly plural: string;
}

/** A kind by its group ("" is core). */
interface KindName {
  readonly group: string;
  readonly kind: string;
}

interface Failure {
  readonly code: number;
  readonly reason?: string;
  readonly message: string;
  readonly details?: StatusDetails;
  /** Continue token of the list that a client may resume. */
  readonly continueToken?: string;
}

function failure({ code, reason, message, details, continueToken }: Failure): StatusError {
  const retryAfter = details?.retryAfterSeconds;
  return new StatusError(
    {
      kind: "Status",
      apiVersion: "v1",
      metadata: continueToken === undefined ? {} : { continue: continueToken },
      status: "Failure",
      message,
      ...(reason === undefined ? {} : { reason }),
      ...(details === undefined ? {} : { details }),
      code,
    },
    retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) },
  );
}

function qualified(name: string, group: string): string {
  return group === "" ? name : `${name}.${group}`;
}

function resourceText(resource: ResourceName): string {
  return qualified(resource.plural, resource.group);
}

/** Details of a resource; `kind` is the plural, as in Kubernetes. */
function detailsOf(resource: ResourceName, name: string): StatusDetails {
  return {
    ...(name === "" ? {} : { name }),
    ...(resource.group === "" ? {} : { group: resource.group }),
    ...(resource.plural === "" ? {} : { kind: resource.plural }),
  };
}

export function notFound(resource: ResourceName, name: string): StatusError {
  return failure({
    code: 404,
    reason: "NotFound",
    message: `${resourceText(resource)} ${goQuote(name)} not found`,
    details: detailsOf(resource, name),
  });
}

export function alreadyExists(resource: ResourceName, name: string): StatusError {
  return failure({
    code: 409,
    reason: "AlreadyExists",
    message: `${resourceText(resource)} ${goQuote(name)} already exists`,
    details: detailsOf(resource, name),
  });
}

/** Create of an object whose name belongs to a terminating object. */
export function alreadyExistsDeleting(resource: ResourceName, name: string): StatusError {
  const { status } = alreadyExists(resource, name);
  return failure({
    code: 409,
    reason: "AlreadyExists",
    message: `object is being deleted: ${status.message}`,
    details: detailsOf(resource, name),
  });
}

/** All names generated from generateName are taken. */
export function generatedNameTaken(resource: ResourceName, name: string): StatusError {
  return failure({
    code: 409,
    reason: "AlreadyExists",
    message:
      `${resourceText(resource)} ${goQuote(name)} already exists, ` +
      "the server was not able to generate a unique name for the object",
    details: { ...detailsOf(resource, name), retryAfterSeconds: 1 },
  });
}

const modifiedMessage =
  "the object has been modified; please apply your changes to the latest version and try again";

export function conflict(
  resource: ResourceName,
  name: string,
  message: string = modifiedMessage,
): StatusError {
  return failure({
    code: 409,
    reason: "Conflict",
    message:
      `Operation cannot be fulfilled on ${resourceText(resource)} ${goQuote(name)}: ` + message,
    details: detailsOf(resource, name),
  });
}

/** Conflicts of server-side apply with other managers, which `causes` name. */
export function applyConflict(message: string, causes: readonly StatusCause[]): StatusError {
  return failure({ code: 409, reason: "Conflict", message, details: { causes } });
}

export function badRequest(message: string): StatusError {
  return failure({ code: 400, reason: "BadRequest", message });
}

export function unauthorized(): StatusError {
  return failure({ code: 401, reason: "Unauthorized", message: "Unauthorized" });
}

/** `name` is empty for a collection; the plural, too, for a non-resource path. */
export function forbidden(resource: ResourceName, name: string, message: string): StatusError {
  return failure({
    code: 403,
    reason: "Forbidden",
    message: `${forbiddenSubject(resource, name)}: ${message}`,
    details: detailsOf(resource, name),
  });
}

function forbiddenSubject(resource: ResourceName, name: string): string {
  if (resource.plural === "") return "forbidden";
  if (name === "") return `${resourceText(resource)} is forbidden`;
  return `${resourceText(resource)} ${goQuote(name)} is forbidden`;
}

/** Create in a terminating namespace. */
export function namespaceTerminating(
  resource: ResourceName,
  name: string,
  namespace: string,
): StatusError {
  const because = "because it is being terminated";
  return failure({
    code: 403,
    reason: "Forbidden",
    message:
      `${forbiddenSubject(resource, name)}: ` +
      `unable to create new content in namespace ${namespace} ${because}`,
    details: {
      ...detailsOf(resource, name),
      causes: [
        {
          reason: "NamespaceTerminating",
          message: `namespace ${namespace} is being terminated`,
          field: "metadata.namespace",
        },
      ],
    },
  });
}

/** The resource does not support the verb. */
export function methodNotSupported(resource: ResourceName, action: string): StatusError {
  return failure({
    code: 405,
    reason: "MethodNotAllowed",
    message: `${action} is not supported on resources of kind ${goQuote(resourceText(resource))}`,
    details: detailsOf(resource, ""),
  });
}

/**
 * The requested resourceVersion has been compacted; `continueToken` permits an inconsistent
 * continuation of a list.
 */
export function expired(message: string, continueToken?: string): StatusError {
  const token = continueToken === undefined ? {} : { continueToken };
  return failure({ code: 410, reason: "Expired", message, ...token });
}

export function gone(message: string): StatusError {
  return failure({ code: 410, reason: "Gone", message });
}

export function timeout(message: string, retryAfterSeconds = 0): StatusError {
  return failure({
    code: 504,
    reason: "Timeout",
    message: `Timeout: ${message}`,
    details: retryAfterSeconds > 0 ? { retryAfterSeconds } : {},
  });
}

/**
 * The requested resourceVersion is larger than the current one. A client may retry after a second, unless
 * kube-apiserver reads the kind from the store: its watch cache would have waited for the revision.
 */
export function tooLargeResourceVersion(
  asked: number | bigint,
  current: number | bigint,
  { isCached = true }: { readonly isCached?: boolean } = {},
): StatusError {
  return failure({
    code: 504,
    reason: "Timeout",
    message: `Timeout: Too large resource version: ${asked}, current: ${current}`,
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      ...(isCached ? { retryAfterSeconds: 1 } : {}),
    },
  });
}

export function tooManyRequests(message: string, retryAfterSeconds = 1): StatusError {
  return failure({
    code: 429,
    reason: "TooManyRequests",
    message,
    ...(retryAfterSeconds > 0 ? { details: { retryAfterSeconds } } : {}),
  });
}

export function internalError(message: string): StatusError {
  return failure({
    code: 500,
    reason: "InternalError",
    message: `Internal error occurred: ${message}`,
    details: { causes: [{ message }] },
  });
}

/** 500 with the message, without a reason. */
export function plainFailure(message: string): StatusError {
  return failure({ code: 500, message });
}

/** The path is part of the API, but not implemented by this server. */
export function notImplemented(message: string): StatusError {
  return failure({ code: 501, message });
}

export function serviceUnavailable(message: string): StatusError {
  return failure({ code: 503, reason: "ServiceUnavailable", message });
}

/** The body's content type is none of `accepted`. */
export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  return failure({
    code: 415,
    reason: "UnsupportedMediaType",
    message:
      "the body of the request was in an unknown format - " +
      `accepted media types include: ${accepted.join(", ")}`,
  });
}

/** The client accepts none of `offered`. */
export function notAcceptable(offered: readonly string[]): StatusError {
  return notAcceptableBecause(`only the following media types are accepted: ${offered.join(", ")}`);
}

export function notAcceptableBecause(message: string): StatusError {
  return failure({ code: 406, reason: "NotAcceptable", message });
}

export function requestEntityTooLarge(message: string): StatusError {
  return failure({
    code: 413,
    reason: "RequestEntityTooLarge",
    message: `Request entity too large: ${message}`,
  });
}

/** Generic errors by status code, with empty details. */
export function genericFailure(code: 404 | 405 | 415 | 422): StatusError {
  return failure({ code, ...generic[code], details: {} });
}

const generic = {
  404: { reason: "NotFound", message: "the server could not find the requested resource" },
  405: {
    reason: "MethodNotAllowed",
    message: "the server does not allow this method on the requested resource",
  },
  415: { reason: "UnsupportedMediaType", message: "415: Unsupported Media Type" },
  422: {
    reason: "Invalid",
    message: "the server rejected our request due to an error in our request",
  },
} as const;

/**
 * Maximum total size of the causes of one object, in characters, in addition to `maxReportedProblems`:
 * it limits the response to a small body with many problems, or with a large value in many problems.
 */
const maxCauseCharacters = 4 * 1024 * 1024;

/** 422 Invalid: one cause per problem; the message contains all of them. */
export function invalid(kind: KindName, name: string, problems: Problems): StatusError {
  const causes = reportedCauses(problems.list);
  const lines = [...new Set(causes.map((cause) => `${cause.field}: ${cause.message}`))];
  const text = lines.length === 1 ? lines[0] : lines.length === 0 ? "" : `[${lines.join(", ")}]`;
  return failure({
    code: 422,
    reason: "Invalid",
    message: `${qualified(kind.kind, kind.group)} ${goQuote(name)} is invalid: ${text}`,
    details: { ...detailsOf({ group: kind.group, plural: kind.kind }, name), causes },
  });
}

function reportedCauses(problems: readonly FieldProblem[]): ReturnType<typeof causeOf>[] {
  const told: ReturnType<typeof causeOf>[] = [];
  let characters = 0;
  for (const problem of problems.slice(0, maxReportedProblems)) {
    const cause = causeOf(problem);
    characters += (cause.message ?? "").length + cause.field.length;
    if (characters > maxCauseCharacters && told.length > 0) break;
    told.push(cause);
  }
  return told;
}

function causeOf(problem: FieldProblem): StatusCause & { readonly field: string } {
  return {
    reason: problem.type,
    message: problemText(problem),
    field: problem.field === "" ? "<nil>" : problem.field,
  };
}

const titles: Readonly<Record<ProblemType, string>> = {
  FieldValueNotFound: "Not found",
  FieldValueRequired: "Required value",
  FieldValueDuplicate: "Duplicate value",
  FieldValueInvalid: "Invalid value",
  FieldValueNotSupported: "Unsupported value",
  FieldValueForbidden: "Forbidden",
  FieldValueTooLong: "Too long",
  FieldValueTooMany: "Too many",
  FieldValueTypeInvalid: "Invalid value",
  InternalError: "Internal error",
};

/** Problem types whose message does not contain the value. */
const withoutValue: ReadonlySet<ProblemType> = new Set([
  "FieldValueRequired",
  "FieldValueForbidden",
  "FieldValueTooLong",
  "InternalError",
]);

/** The message of a problem without its field: `Invalid value: "x": must be shorter`. */
export function problemText(problem: FieldProblem): string {
  const title = titles[problem.type];
  const isShown = "value" in problem && !withoutValue.has(problem.type);
  const subject = isShown ? `${title}: ${shownValue(problem)}` : title;
  return problem.detail === "" ? subject : `${subject}: ${problem.detail}`;
}

/** Unsupported values have Go types of their own, except texts: they are printed as JSON. */
function shownValue({ type, value, isQuoted }: FieldProblem): string {
  const isJson = type === "FieldValueNotSupported" && isQuoted !== true;
  const isText = typeof value === "string";
  return isJson && isText ? escapedForHtml(JSON.stringify(value)) : valueText(value);
}

function valueText(value: unknown): string {
  if (value === undefined || value === null) return "null";
  if (typeof value === "string") return goQuote(value);
  if (typeof value === "object") return escapedForHtml(printGoJson(value));
  return String(value);
}

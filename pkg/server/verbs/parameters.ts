import { badRequest, type Domain, goQuote, invalid, metaGroupOf } from "#meta";
import { Path, Problems } from "#schema";
import {
  checkDryRun,
  ignoreReadErrorField,
  type ListOptions,
  type RawDeleteOptions,
  type WatchOptions,
  type WriteOptions,
} from "#registry";
import type { Query } from "#request";

/**
 * The options of a verb from its query parameters. Invalid values are rejected with 400 or 422 and
 * kube-apiserver's message.
 */

const maxInt64 = 2n ** 63n - 1n;

/**
 * Parses an integer parameter like Go's ParseInt; undefined if absent.
 * @throws StatusError 400
 */
function integerParameter(query: Query, name: string): number | undefined {
  const text = query.get(name);
  if (text === undefined) return undefined;
  if (!/^[-+]?\d+$/.test(text)) {
    throw badRequest(`strconv.ParseInt: parsing ${goQuote(text)}: invalid syntax`);
  }
  const value = BigInt(text.replace(/^\+/, ""));
  if (value > maxInt64 || value < -maxInt64 - 1n) {
    throw badRequest(`strconv.ParseInt: parsing ${goQuote(text)}: value out of range`);
  }
  return Number(value);
}

export function listOptions(query: Query): ListOptions {
  integerParameter(query, "timeoutSeconds");
  return {
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
    resourceVersion: query.get("resourceVersion") ?? "",
    resourceVersionMatch: query.get("resourceVersionMatch") ?? "",
    limit: integerParameter(query, "limit") ?? 0,
    continueToken: query.get("continue") ?? "",
    sendInitialEvents: query.flag("sendInitialEvents"),
  };
}

export function watchOptions(query: Query): WatchOptions {
  return {
    ...listOptions(query),
    allowBookmarks: query.flag("allowWatchBookmarks") ?? false,
    sendInitialEvents: query.flag("sendInitialEvents"),
    timeoutSeconds: integerParameter(query, "timeoutSeconds"),
  };
}

/** The options kind of group meta that error messages name. */
export type WriteOptionsKind = "CreateOptions" | "UpdateOptions" | "PatchOptions";

/**
 * Options of a create, update or patch.
 * @throws StatusError 422
 */
export function writeOptions(
  query: Query,
  { kind, domain, apply }: { kind: WriteOptionsKind; domain: Domain; apply?: boolean },
): WriteOptions {
  const problems = new Problems();
  const fieldManager = query.get("fieldManager") ?? "";
  if (kind === "PatchOptions") checkPatch(query, apply ?? false, problems);
  checkManager(fieldManager, problems);
  const dryRun = query.has("dryRun") ? query.all("dryRun") : [];
  checkDryRun(dryRun, problems);
  const fieldValidation = query.get("fieldValidation") ?? "";
  if (!/^(Strict|Warn|Ignore|)$/.test(fieldValidation)) {
    const supported = ["", "Ignore", "Strict", "Warn"];
    problems.notSupportedText(Path.of("fieldValidation"), fieldValidation, supported);
  }
  throwIfAny(problems, kind, domain);
  return {
    dryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation: (fieldValidation || "Warn") as WriteOptions["fieldValidation"],
  };
}

function checkPatch(query: Query, apply: boolean, problems: Problems): void {
  if (apply && (query.get("fieldManager") ?? "") === "") {
    problems.required(Path.of("fieldManager"), "is required for apply patch");
  } else if (!apply && query.has("force")) {
    problems.forbidden(Path.of("force"), "may not be specified for non-apply patch");
  }
}

const maxManagerBytes = 128;

function checkManager(name: string, problems: Problems): void {
  const path = Path.of("fieldManager");
  if (Buffer.byteLength(name) > maxManagerBytes) problems.tooLong(path, name, maxManagerBytes);
  let position = 0;
  for (const character of name) {
    if (/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character)) {
      const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
      problems.invalid(path, name, `invalid character U+${code} (at position ${position})`);
    }
    position += Buffer.byteLength(character);
  }
}

export function deleteOptionsOfQuery(query: Query): RawDeleteOptions {
  const uid = query.get("uid");
  const resourceVersion = query.get("resourceVersion");
  const preconditions = {
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  return {
    gracePeriodSeconds: integerParameter(query, "gracePeriodSeconds"),
    propagationPolicy: query.get("propagationPolicy"),
    orphanDependents: query.flag("orphanDependents"),
    dryRun: query.all("dryRun"),
    preconditions: Object.keys(preconditions).length === 0 ? undefined : preconditions,
    ignoreReadError: query.flag(ignoreReadErrorField) ?? false,
  };
}

function throwIfAny(problems: Problems, kind: string, domain: Domain): void {
  if (!problems.empty) throw invalid({ group: metaGroupOf(domain), kind }, "", problems);
}

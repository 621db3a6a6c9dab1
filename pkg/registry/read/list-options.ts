import { badRequest, type Domain, invalid } from "#meta";
import { Path, Problems } from "#schema";
import type { ListOptions, WatchOptions } from "../contract.ts";
import { parseResourceVersion } from "../write/preconditions.ts";
import { malformedVersion } from "./get.ts";

const matchPath = Path.of("resourceVersionMatch");
const notOlderThan = "NotOlderThan";

/** Throws 422 for combinations of list parameters that Kubernetes refuses. */
export function checkListOptions(options: ListOptions, domain: Domain): void {
  const problems = new Problems();
  const { resourceVersion, resourceVersionMatch: match, continueToken } = options;
  if (match !== "") {
    if (resourceVersion === "") {
      forbid(problems, "resourceVersionMatch is forbidden unless resourceVersion is provided");
    }
    if (continueToken !== "") {
      forbid(problems, "resourceVersionMatch is forbidden when continue is provided");
    }
    if (match !== "Exact" && match !== notOlderThan) {
      unsupportedMatch(problems, match, ["Exact", notOlderThan, ""]);
    }
    if (match === "Exact" && resourceVersion === "0") {
      forbid(problems, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
    }
  }
  if (options.sendInitialEvents !== undefined) {
    problems.forbidden(Path.of("sendInitialEvents"), "sendInitialEvents is forbidden for list");
  }
  refuse(problems, domain);
}

/** Throws 422 for combinations of watch parameters that Kubernetes refuses. */
export function checkWatchOptions(options: WatchOptions, domain: Domain): void {
  const problems = new Problems();
  const { continueToken } = options;
  const { resourceVersionMatch: match, sendInitialEvents } = withWatchDefaults(options);
  if (sendInitialEvents !== undefined && match !== notOlderThan) {
    forbid(problems, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  }
  if (match !== "") {
    if (sendInitialEvents === undefined) {
      forbid(
        problems,
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
      );
    }
    if (match !== notOlderThan) unsupportedMatch(problems, match, [notOlderThan]);
    if (continueToken !== "") {
      forbid(problems, "resourceVersionMatch is forbidden when continue is provided");
    }
  }
  refuse(problems, domain);
}

type WatchStart = Pick<WatchOptions, "resourceVersionMatch" | "sendInitialEvents">;

/** A watch that names no version, or "0", asks for initial events unless it says otherwise. */
function withWatchDefaults(options: WatchOptions): WatchStart {
  const { resourceVersion, resourceVersionMatch, sendInitialEvents } = options;
  const isStated = resourceVersionMatch !== "" || sendInitialEvents !== undefined;
  if (isStated || (resourceVersion !== "" && resourceVersion !== "0")) return options;
  return { resourceVersionMatch: notOlderThan, sendInitialEvents: true };
}

function forbid(problems: Problems, detail: string): void {
  problems.forbidden(matchPath, detail);
}

/** In Kubernetes' own order, which is not sorted. */
function unsupportedMatch(problems: Problems, value: string, supported: readonly string[]): void {
  const list = supported.map((each) => JSON.stringify(each)).join(", ");
  const detail = `supported values: ${list}`;
  const field = matchPath.toString();
  problems.add({ type: "FieldValueNotSupported", field, value, detail });
}

function refuse(problems: Problems, domain: Domain): void {
  if (problems.empty) return;
  throw invalid({ group: `meta.${domain.api}`, kind: "ListOptions" }, "", problems);
}

/** Which state of the store a list shows. */
export type ListVersion =
  | { readonly kind: "newest"; /** Not older than this. */ readonly least: bigint }
  | { readonly kind: "exact"; readonly revision: bigint };

/**
 * Kubernetes' table of resourceVersion and resourceVersionMatch, for lists without a continue
 * token. A version with a limit and no match means exactly that version. Throws 400 for malformed
 * versions.
 */
export function listVersion(options: ListOptions): ListVersion {
  const { resourceVersion, resourceVersionMatch, limit } = options;
  if (resourceVersion === "") return { kind: "newest", least: 0n };
  const version = parseResourceVersion(resourceVersion);
  if (version === undefined) {
    throw badRequest(`invalid resource version: ${malformedVersion(resourceVersion)}`);
  }
  const exact = resourceVersionMatch === "Exact" || (resourceVersionMatch === "" && limit > 0);
  return exact && version > 0n
    ? { kind: "exact", revision: version }
    : { kind: "newest", least: version };
}

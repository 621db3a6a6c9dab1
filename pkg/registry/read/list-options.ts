import { badRequest, type Domain, invalid } from "#meta";
import { Path, Problems } from "#schema";
import type { RegistryContext } from "../context.ts";
import type { ListOptions, WatchOptions } from "../contract.ts";
import { parseResourceVersion } from "../write/preconditions.ts";
import { malformedVersion } from "./get.ts";

const matchPath = Path.of("resourceVersionMatch");
const notOlderThan = "NotOlderThan";

/** Throws 422 for combinations of list parameters that kube-apiserver rejects (ValidateListOptions). */
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
  throwIfInvalid(problems, domain);
}

/** Throws 422 for combinations of watch parameters that kube-apiserver rejects. */
export function checkWatchOptions(
  options: WatchOptions,
  { catalog: { domain }, gates }: Pick<RegistryContext, "catalog" | "gates">,
): void {
  const problems = new Problems();
  const { continueToken } = options;
  const isWatchList = gates("WatchList");
  const { resourceVersionMatch: match, sendInitialEvents } = isWatchList
    ? withWatchDefaults(options)
    : options;
  if (sendInitialEvents !== undefined && match !== notOlderThan) {
    forbid(problems, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  }
  if (sendInitialEvents !== undefined && !isWatchList) {
    problems.forbidden(
      Path.of("sendInitialEvents"),
      "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
    );
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
  throwIfInvalid(problems, domain);
}

type WatchStart = Pick<WatchOptions, "resourceVersionMatch" | "sendInitialEvents">;

/** A watch without resourceVersion, or from "0", defaults to initial events (SetListOptionsDefaults). */
function withWatchDefaults(options: WatchOptions): WatchStart {
  const { resourceVersion, resourceVersionMatch, sendInitialEvents } = options;
  const isStated = resourceVersionMatch !== "" || sendInitialEvents !== undefined;
  if (isStated || (resourceVersion !== "" && resourceVersion !== "0")) return options;
  return { resourceVersionMatch: notOlderThan, sendInitialEvents: true };
}

function forbid(problems: Problems, detail: string): void {
  problems.forbidden(matchPath, detail);
}

/** Lists the supported values in kube-apiserver's order, which is not sorted. */
function unsupportedMatch(problems: Problems, value: string, supported: readonly string[]): void {
  const list = supported.map((each) => JSON.stringify(each)).join(", ");
  const detail = `supported values: ${list}`;
  const field = matchPath.toString();
  problems.add({ type: "FieldValueNotSupported", field, value, detail });
}

function throwIfInvalid(problems: Problems, domain: Domain): void {
  if (problems.empty) return;
  throw invalid({ group: `meta.${domain.api}`, kind: "ListOptions" }, "", problems);
}

/** The revision that a list returns. */
export type ListVersion =
  | { readonly kind: "newest"; /** Lowest acceptable revision. */ readonly least: bigint }
  | { readonly kind: "exact"; readonly revision: bigint };

/**
 * The semantics of resourceVersion and resourceVersionMatch for lists without a continue token. With a
 * limit and without resourceVersionMatch, a resourceVersion is exact. Throws 400 if it is malformed.
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

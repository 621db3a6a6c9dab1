import { type Domain, invalid, metaGroupOf } from "#meta";
import { Path, Problems } from "#schema";
import type { DeleteOptions } from "../contract.ts";

/** DeleteOptions as a client sent them. */
export interface RawDeleteOptions {
  readonly gracePeriodSeconds: number | undefined;
  readonly propagationPolicy: string | undefined;
  readonly orphanDependents: boolean | undefined;
  readonly dryRun: readonly string[];
  readonly preconditions: DeleteOptions["preconditions"];
  readonly ignoreReadError: boolean;
}

/** Field and query parameter of `ignoreReadError`. */
export const ignoreReadErrorField = "ignoreStoreReadErrorWithClusterBreakingPotential";

const policies = ["Foreground", "Background", "Orphan"] as const;

/**
 * Validates the options of a DELETE request or of an Eviction.
 * @throws StatusError 422
 */
export function checkDeleteOptions(raw: RawDeleteOptions, domain: Domain): DeleteOptions {
  const problems = new Problems();
  const { propagationPolicy, orphanDependents } = raw;
  const path = Path.of("propagationPolicy");
  const policy = policies.find((known) => known === propagationPolicy);
  if (propagationPolicy !== undefined) {
    if (orphanDependents !== undefined) {
      const detail = "orphanDependents and deletionPropagation cannot be both set";
      problems.invalid(path, propagationPolicy, detail);
    }
    if (policy === undefined) {
      const detail = 'supported values: "Foreground", "Background", "Orphan", "nil"';
      const value = propagationPolicy;
      problems.add({ type: "FieldValueNotSupported", field: path.toString(), value, detail });
    }
  }
  checkDryRun(raw.dryRun, problems);
  if (raw.ignoreReadError) checkIgnoringReadError(raw, problems);
  if (!problems.empty) {
    throw invalid({ group: metaGroupOf(domain), kind: "DeleteOptions" }, "", problems);
  }
  return {
    dryRun: raw.dryRun.length > 0,
    gracePeriodSeconds: raw.gracePeriodSeconds,
    propagationPolicy: policy,
    orphanDependents,
    preconditions: raw.preconditions,
    ignoreReadError: raw.ignoreReadError,
  };
}

/** `All` is the only stage of a request that a dry run can name. */
export function checkDryRun(dryRun: readonly string[], problems: Problems): void {
  if (dryRun.some((stage) => stage !== "All")) {
    problems.notSupported(Path.of("dryRun"), dryRun, ["All"]);
  }
}

/** Options that need the content of the object exclude ignoring that it cannot be read. */
function checkIgnoringReadError(raw: RawDeleteOptions, problems: Problems): void {
  const names = [
    "dryRun",
    "propagationPolicy",
    "orphanDependents",
    "gracePeriodSeconds",
    "preconditions",
  ] as const;
  const path = Path.of(ignoreReadErrorField);
  for (const name of names) {
    if (raw[name] === undefined || (name === "dryRun" && raw.dryRun.length === 0)) continue;
    problems.invalid(path, true, `cannot be set together with .${name}`);
  }
}

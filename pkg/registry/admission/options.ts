import type { DeleteOptions, PatchOptions, WriteOptions, OperationOptions } from "../contract.ts";

/** A patch counts as an update, or as a creation where it creates. */
export function writeOperationOptions(
  kind: "CreateOptions" | "UpdateOptions",
  { dryRun, fieldManager, fieldValidation }: WriteOptions | PatchOptions,
): OperationOptions {
  return {
    kind,
    ...(dryRun ? { dryRun: ["All"] } : {}),
    ...(fieldManager === "" ? {} : { fieldManager }),
    // Nobody needs to ask for the default.
    ...(fieldValidation === "Warn" ? {} : { fieldValidation }),
  };
}

export function deleteOperationOptions(options: DeleteOptions): OperationOptions {
  const { dryRun, gracePeriodSeconds, preconditions, orphanDependents } = options;
  const { propagationPolicy } = options;
  return {
    kind: "DeleteOptions",
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(preconditions === undefined ? {} : { preconditions }),
    ...(orphanDependents === undefined ? {} : { orphanDependents }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(dryRun ? { dryRun: ["All"] } : {}),
  };
}

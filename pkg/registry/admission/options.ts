import type { DeleteOptions, PatchOptions, WriteOptions, OperationOptions } from "../contract.ts";

/** The options of a write in AdmissionReviews; a patch has CreateOptions or UpdateOptions. */
export function writeOperationOptions(
  kind: "CreateOptions" | "UpdateOptions",
  { dryRun, fieldManager, fieldValidation }: WriteOptions | PatchOptions,
): OperationOptions {
  return {
    kind,
    ...(dryRun ? { dryRun: ["All"] } : {}),
    ...(fieldManager === "" ? {} : { fieldManager }),
    // The default is omitted.
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

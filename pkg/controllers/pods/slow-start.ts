export interface SlowStartResult {
  readonly succeeded: number;
  /** Failures of the last batch; empty = all calls succeeded. */
  readonly failures: readonly unknown[];
}

/**
 * Calls `work` with 0 to `count` - 1, in concurrent batches of 1, 2, 4, …, and stops after the first batch
 * with a failure: kube-controller-manager's slowStartBatch, e.g. to send few requests to an exceeded quota.
 */
export async function slowStart(
  count: number,
  work: (index: number) => Promise<unknown>,
): Promise<SlowStartResult> {
  let succeeded = 0;
  let begun = 0;
  for (let size = 1; begun < count; size *= 2) {
    const batch = Array.from({ length: Math.min(size, count - begun) }, (_, index) =>
      work(begun + index),
    );
    begun += batch.length;
    const results = await Promise.allSettled(batch);
    const failures = results.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    succeeded += batch.length - failures.length;
    if (failures.length > 0) return { succeeded, failures };
  }
  return { succeeded, failures: [] };
}

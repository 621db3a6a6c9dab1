import { internalError } from "#meta";
import type { DeleteOptions, ResourceRequest } from "../contract.ts";
import { nextGeneration, timestamp } from "../write/metadata.ts";

/**
 * Graceful deletion: the object is marked with the grace period of its kind and remains until its node
 * deletes it with a grace period of zero. Another deletion may only shorten the grace period.
 */

/** The effect of a deletion on the metadata of an object with a grace period. */
export type GracefulDeletion =
  /** None: the object is terminating already. */
  | { readonly step: "pending" }
  /** Sets the deletionTimestamp, or shortens the grace period to `seconds`. */
  | { readonly step: "marked"; readonly metadata: any; readonly seconds: number }
  /** The object is terminating without a grace period. */
  | { readonly step: "immediate" };

/** The effect of a deletion; undefined if the kind has no graceful deletion. */
export function gracefulDeletion(
  { resource }: ResourceRequest,
  object: any,
  { options, now }: { readonly options: DeleteOptions; readonly now: number },
): GracefulDeletion | undefined {
  const { gracePeriod } = resource.kind.hooks;
  if (gracePeriod === undefined) return undefined;
  const requested = requestedGracePeriod(options);
  const { metadata } = object;
  if (metadata.deletionTimestamp) return shortened(metadata, requested);
  const seconds = gracePeriod(object, requested);
  if (!Number.isSafeInteger(seconds)) throw internalError("the grace period must be an integer");
  const generation = BigInt(metadata.generation ?? 0);
  return {
    step: "marked",
    seconds,
    metadata: {
      ...metadata,
      ...(generation > 0n ? { generation: nextGeneration(generation) } : {}),
      deletionTimestamp: timestamp(now + seconds * 1000),
      deletionGracePeriodSeconds: seconds,
    },
  };
}

/** The client's grace period in seconds; a negative one means 1. */
function requestedGracePeriod({ gracePeriodSeconds }: DeleteOptions): number | undefined {
  if (gracePeriodSeconds === undefined) return undefined;
  return gracePeriodSeconds < 0 ? 1 : gracePeriodSeconds;
}

/** The effect of another deletion, counted from the first one. */
function shortened(metadata: any, requested: number | undefined): GracefulDeletion {
  const current = metadata.deletionGracePeriodSeconds;
  if (current === undefined) return { step: "immediate" };
  if (requested === undefined || requested >= Number(current)) return { step: "pending" };
  const end = Date.parse(metadata.deletionTimestamp) - (Number(current) - requested) * 1000;
  return {
    step: "marked",
    seconds: requested,
    metadata: {
      ...metadata,
      deletionTimestamp: timestamp(end),
      deletionGracePeriodSeconds: requested,
    },
  };
}

import { internalError } from "#meta";
import type { DeleteOptions, ResourceRequest } from "../contract.ts";
import { nextGeneration, timestamp } from "../write/metadata.ts";

/**
 * Graceful deletion: the object is marked and stays for the grace period of its kind, until its
 * node deletes it with a grace period of zero. A second deletion may shorten the rest.
 */

/** What a deletion does to the metadata of an object that goes gracefully. */
export type GracefulDeletion =
  /** It is on its way already, and this deletion changes nothing. */
  | { readonly step: "pending" }
  /** Marked for the first time, or for less time than before. */
  | { readonly step: "marked"; readonly metadata: any; readonly seconds: number }
  /** Marked once by a server that granted no time. */
  | { readonly step: "at once" };

/** Undefined where the kind does not go gracefully. */
export function gracefulDeletion(
  { resource }: ResourceRequest,
  object: any,
  { options, now }: { readonly options: DeleteOptions; readonly now: number },
): GracefulDeletion | undefined {
  const { gracePeriod } = resource.kind.hooks;
  if (gracePeriod === undefined) return undefined;
  const asked = requestedGracePeriod(options);
  const { metadata } = object;
  if (metadata.deletionTimestamp) return shortened(metadata, asked);
  const seconds = gracePeriod(object, asked);
  if (!Number.isSafeInteger(seconds)) throw internalError("a grace period is a whole number");
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

/** Less than nothing counts as one second. */
function requestedGracePeriod({ gracePeriodSeconds }: DeleteOptions): number | undefined {
  if (gracePeriodSeconds === undefined) return undefined;
  return gracePeriodSeconds < 0 ? 1 : gracePeriodSeconds;
}

function shortened(metadata: any, asked: number | undefined): GracefulDeletion {
  const granted = metadata.deletionGracePeriodSeconds;
  if (granted === undefined) return { step: "at once" };
  if (asked === undefined || asked >= Number(granted)) return { step: "pending" };
  const end = Date.parse(metadata.deletionTimestamp) - (Number(granted) - asked) * 1000;
  return {
    step: "marked",
    seconds: asked,
    metadata: {
      ...metadata,
      deletionTimestamp: timestamp(end),
      deletionGracePeriodSeconds: asked,
    },
  };
}

import {
  cleanupFinalizer,
  conditionOf,
  type CustomResourceDefinition,
  type DefinitionCondition,
  withCondition,
} from "#api";
import { RequeueAfter } from "#client";
import { type Domain, type Resource, resolve } from "#meta";
import { listAll, defaultDeleteOptions, loopbackRequest } from "#registry";
import type { DefinitionOptions } from "./options.ts";
import { customResources } from "./custom-kind.ts";
import { timestamp, writeStatus } from "./status.ts";

/** Number of objects listed and deleted per page. */
const pageSize = 500;
/** Retry interval in ms while objects wait for their finalizers. */
const retryMs = 200;

export interface Removal {
  readonly definition: CustomResourceDefinition;
  /** Monotonic time in ms when this server first saw the deletionTimestamp. */
  readonly terminatingSince: number;
}

/**
 * Finalizes a definition: deletes its objects, then removes the cleanup finalizer.
 * @throws RequeueAfter while objects remain, or other servers may still create some
 */
export async function removeInstances(
  options: DefinitionOptions,
  resource: Resource,
  { definition, terminatingSince }: Removal,
): Promise<void> {
  const { clock, catalog } = options;
  const finalizer = resolve(cleanupFinalizer, catalog.domain);
  const finalizers: readonly string[] = definition.metadata.finalizers ?? [];
  if (!finalizers.includes(finalizer)) return;
  const statusWith = (condition: TerminatingCondition): CustomResourceDefinition["status"] => {
    const now = timestamp(clock.now());
    const conditions = [...withCondition(definition.status.conditions ?? [], condition, now)];
    return { ...definition.status, conditions };
  };
  const instances = storedResource(definition, catalog.domain);
  if (instances !== undefined) {
    if (conditionOf(definition.status, "Terminating")?.reason !== deletionInProgress.reason) {
      // This write is ordered after creations in progress, and its watch event starts another sync.
      await writeStatus(options, resource, {
        ...definition,
        status: statusWith(deletionInProgress),
      });
      return;
    }
    // Determined before the deletion: a server that starts later sees the deletionTimestamp.
    const settleMs = await options.settleMs();
    if (await deleteAll(options, instances)) throw new RequeueAfter("objects remain", retryMs);
    const settling = terminatingSince + settleMs - clock.monotonic();
    if (settling > 0) throw new RequeueAfter("other servers may create objects", settling);
  }
  const { metadata } = definition;
  await writeStatus(options, resource, {
    ...definition,
    metadata: { ...metadata, finalizers: finalizers.filter((each) => each !== finalizer) },
    status: statusWith(deletionCompleted),
  });
}

type TerminatingCondition = Omit<DefinitionCondition, "lastTransitionTime">;

const deletionInProgress: TerminatingCondition = {
  type: "Terminating",
  status: "True",
  reason: "InstanceDeletionInProgress",
  message: "CustomResource deletion is in progress",
};

const deletionCompleted: TerminatingCondition = {
  type: "Terminating",
  status: "False",
  reason: "InstanceDeletionCompleted",
  message: "removed all instances",
};

/**
 * The resource in the storage version, served or not. Undefined if the definition was never
 * established and hence has no objects.
 */
function storedResource(
  definition: CustomResourceDefinition,
  domain: Domain,
): Resource | undefined {
  const { spec, status } = definition;
  if (conditionOf(status, "Established")?.status !== "True") return undefined;
  const versions = (spec.versions ?? []).map((each) => ({ ...each, served: each.storage }));
  const stored = { ...definition, spec: { ...spec, versions } };
  // No conversion: the webhook may not exist any more, and deletion does not need it.
  const compiling = { domain, isTerminating: () => true, conversion: undefined };
  return customResources(stored, compiling)[0];
}

/** Deletes all objects; returns whether some remain, waiting for their finalizers. */
async function deleteAll(
  { registry, signal }: DefinitionOptions,
  resource: Resource,
): Promise<boolean> {
  const target = loopbackRequest(resource, {}, { signal });
  let continueToken = "";
  do {
    const page = { ...listAll, limit: pageSize, continueToken };
    const deleted = await registry.deleteCollection(target, page, defaultDeleteOptions);
    for await (const items of deleted.chunks) void items;
    continueToken = deleted.next?.continueToken ?? "";
  } while (continueToken !== "");
  const remaining = await registry.list(target, { ...listAll, limit: 1 });
  for await (const items of remaining.chunks) if (items.length > 0) return true;
  return false;
}

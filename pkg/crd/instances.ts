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

/** Objects are looked at and deleted so many at a time. */
const pageSize = 500;
/** Objects with finalizers need others to go. */
const patienceMs = 200;

export interface Removal {
  readonly definition: CustomResourceDefinition;
  /** When this server saw that the definition is being deleted; monotonic time. */
  readonly goingSince: number;
}

/**
 * Carries out the deletion of a definition: first its objects go, then the finalizer that waits
 * for that. Throws RequeueAfter while there are objects left, or may be.
 */
export async function removeInstances(
  options: DefinitionOptions,
  resource: Resource,
  { definition, goingSince }: Removal,
): Promise<void> {
  const { clock, catalog } = options;
  const finalizer = resolve(cleanupFinalizer, catalog.domain);
  const finalizers: readonly string[] = definition.metadata.finalizers ?? [];
  if (!finalizers.includes(finalizer)) return;
  const told = (condition: Told): CustomResourceDefinition["status"] => {
    const now = timestamp(clock.now());
    const conditions = [...withCondition(definition.status.conditions ?? [], condition, now)];
    return { ...definition.status, conditions };
  };
  const instances = storedResource(definition, catalog.domain);
  if (instances !== undefined) {
    if (conditionOf(definition.status, "Terminating")?.reason !== removing.reason) {
      // It comes to the store behind what was under way, and brings the definition here again.
      await writeStatus(options, resource, { ...definition, status: told(removing) });
      return;
    }
    // Asked before the objects are deleted: a server that starts later knows of the deletion.
    const settleMs = await options.settleMs();
    if (await deleteAll(options, instances)) throw new RequeueAfter("objects are left", patienceMs);
    const settling = goingSince + settleMs - clock.monotonic();
    if (settling > 0) throw new RequeueAfter("there may be more objects", settling);
  }
  const { metadata } = definition;
  await writeStatus(options, resource, {
    ...definition,
    metadata: { ...metadata, finalizers: finalizers.filter((each) => each !== finalizer) },
    status: told(removed),
  });
}

type Told = Omit<DefinitionCondition, "lastTransitionTime">;

const removing: Told = {
  type: "Terminating",
  status: "True",
  reason: "InstanceDeletionInProgress",
  message: "CustomResource deletion is in progress",
};

const removed: Told = {
  type: "Terminating",
  status: "False",
  reason: "InstanceDeletionCompleted",
  message: "removed all instances",
};

/**
 * The objects of a definition in the version that they are stored in, whether that is served or
 * not. Undefined where there never were any, because its names were not accepted.
 */
function storedResource(
  definition: CustomResourceDefinition,
  domain: Domain,
): Resource | undefined {
  const { spec, status } = definition;
  if (conditionOf(status, "Established")?.status !== "True") return undefined;
  const versions = (spec.versions ?? []).map((each) => ({ ...each, served: each.storage }));
  const stored = { ...definition, spec: { ...spec, versions } };
  // No webhook is asked: it may be gone, and what is deleted need not be understood.
  const compiling = { domain, isTerminating: () => true, conversion: undefined };
  return customResources(stored, compiling)[0];
}

/** Deletes all objects; true when some are left, waiting for their finalizers. */
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
  const left = await registry.list(target, { ...listAll, limit: 1 });
  for await (const items of left.chunks) if (items.length > 0) return true;
  return false;
}

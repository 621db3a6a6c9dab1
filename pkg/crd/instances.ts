import {
  cleanupFinalizer,
  conditionOf,
  type CustomResourceDefinition,
  type DefinitionCondition,
  withCondition,
} from "#api";
import { TryAgain } from "#client";
import { type Domain, type Resource, resolve } from "#meta";
import { everything, plainDelete, serverTarget } from "#registry";
import type { DefinitionOptions } from "./access.ts";
import { customResources } from "./custom-kind.ts";
import { timestamp, writeStatus } from "./status.ts";

/** Objects are looked at and deleted so many at a time. */
const pageSize = 500;
/** Objects with finalizers need others to go. */
const patienceMs = 200;

/**
 * Carries out the deletion of a definition: first its objects go, then the finalizer that waits
 * for that. Throws TryAgain while there are objects left.
 */
export async function removeInstances(
  options: DefinitionOptions,
  resource: Resource,
  definition: CustomResourceDefinition,
): Promise<void> {
  const finalizer = resolve(cleanupFinalizer, options.catalog.domain);
  const finalizers: readonly string[] = definition.metadata.finalizers ?? [];
  if (!finalizers.includes(finalizer)) return;
  const instances = storedResource(definition, options.catalog.domain);
  if (instances !== undefined && (await deleteAll(options, instances))) {
    throw new TryAgain("objects are left", patienceMs);
  }
  const { status, metadata } = definition;
  const now = timestamp(options.clock.now());
  const conditions = [...withCondition(status.conditions ?? [], removed, now)];
  await writeStatus(options, resource, {
    ...definition,
    metadata: { ...metadata, finalizers: finalizers.filter((each) => each !== finalizer) },
    status: { ...status, conditions },
  });
}

const removed: Omit<DefinitionCondition, "lastTransitionTime"> = {
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
  const target = serverTarget(resource, {}, signal);
  let continueToken = "";
  do {
    const page = { ...everything, limit: pageSize, continueToken };
    const deleted = await registry.deleteCollection(target, page, plainDelete);
    for await (const items of deleted.chunks) void items;
    continueToken = deleted.next?.continueToken ?? "";
  } while (continueToken !== "");
  const left = await registry.list(target, { ...everything, limit: 1 });
  for await (const items of left.chunks) if (items.length > 0) return true;
  return false;
}

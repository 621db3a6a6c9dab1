import { type ApiObject, type Client, type Draft, type Handle, objectKey } from "#client";
import { groupVersionOf, isConflict, isNotFound, resolve } from "#meta";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";
import { isServed } from "../is-served.ts";
import { formatTime } from "../time.ts";

type ConditionType = "Running" | "Succeeded" | "Failed";

interface MigrationCondition {
  readonly type: ConditionType;
  readonly status: string;
  readonly lastUpdateTime?: string;
  readonly reason?: string;
  readonly message?: string;
}

interface Migration extends ApiObject {
  readonly spec: {
    readonly resource: {
      readonly group?: string;
      readonly version?: string;
      readonly resource?: string;
    };
  };
  readonly status?: {
    /** resourceVersion of the collection at the start of the migration. */
    readonly resourceVersion?: string;
    readonly conditions?: readonly MigrationCondition[];
  };
}

const fieldManager = "storage-version-migrator-controller";
const workers = 5;
/** Page size of lists. */
const pageSize = 500;
/** Number of objects rewritten concurrently. */
const parallelWrites = 16;
/** Time that a newly defined kind has to become served. */
const graceMs = 60_000;

const reasons: Readonly<Record<ConditionType, string>> = {
  Running: "StorageVersionMigrationInProgress",
  Succeeded: "StorageVersionMigrationSucceeded",
  Failed: "StorageVersionMigrationFailed",
};

/**
 * Runs StorageVersionMigrations, if they are served: rewrites every object that was stored before the start
 * of the migration, so that it is stored in the current version and encryption.
 */
export async function runStorageVersionMigrator(context: ControllerContext): Promise<void> {
  const { client, informers, clock } = context;
  const group = resolve("storagemigration.{api}", client.domain);
  const names = { plural: "storageversionmigrations", kind: "StorageVersionMigration" };
  const handle: Handle<Migration> = { group, version: "v1alpha1", ...names, namespaced: false };
  if (!(await isServed(context, handle))) return;
  const queue = newWorkQueue(context, fieldManager);
  const migrations = informers.of(handle);
  migrations.subscribe(({ type, object }) => {
    if (type !== "deleted" && !hasEnded(object)) queue.add(objectKey(object));
  });
  await migrations.untilSynced();
  const write = (migration: Migration, status: Migration["status"]): Promise<Migration> =>
    client.update(handle, { ...migration, status } as Draft<Migration>, { subresource: "status" });
  const conclude = (migration: Migration, type: ConditionType, message = "") =>
    write(migration, withCondition(migration, { type, message, now: clock.now() }));
  const sync = async (name: string): Promise<void> => {
    const migration = migrations.get(name);
    if (migration === undefined || hasEnded(migration)) return;
    const resource = await servedResource(client, migration);
    if (resource === undefined) {
      const createdAt = Date.parse(migration.metadata.creationTimestamp ?? "");
      const wait = createdAt + graceMs - clock.now();
      if (wait > 0) return queue.addAfter(name, Math.min(wait, 5_000));
      await conclude(migration, "Failed", "resource does not exist in discovery");
      return;
    }
    const { resourceVersion = "" } = migration.status ?? {};
    if (resourceVersion === "") {
      const { resourceVersion } = await client.list(resource, { metadataOnly: true, limit: 1 });
      await write(migration, { ...migration.status, resourceVersion });
      return;
    }
    const running = await conclude(migration, "Running");
    try {
      await rewriteAll(client, resource);
    } catch (error) {
      context.report(`Failed to migrate ${name}`, error);
      await conclude(running, "Failed", "migration encountered unhandled error");
      return;
    }
    await conclude(running, "Succeeded");
  };
  await queue.run(sync, { workers });
}

function hasEnded({ status }: Migration): boolean {
  return (status?.conditions ?? []).some(
    (each) => each.status === "True" && (each.type === "Succeeded" || each.type === "Failed"),
  );
}

async function servedResource(client: Client, { spec }: Migration): Promise<Handle | undefined> {
  const { group = "", version = "", resource = "" } = spec.resource;
  const { resources } = await client.discover();
  return resources.find(
    (each) => each.group === group && each.version === version && each.plural === resource,
  );
}

/** Rewrites all existing objects; new ones are stored in the current version anyway. */
async function rewriteAll(client: Client, resource: Handle): Promise<void> {
  let continueToken = "";
  do {
    const options = { metadataOnly: true, limit: pageSize, continueToken };
    const page = await client.list(resource, options);
    for (let start = 0; start < page.items.length; start += parallelWrites) {
      const some = page.items.slice(start, start + parallelWrites);
      await Promise.all(some.map((object) => rewrite(client, resource, object)));
    }
    ({ continueToken } = page);
  } while (continueToken !== "");
}

/**
 * Rewrites an object by an apply without fields, which re-encodes it unchanged. With uid and resourceVersion
 * it conflicts if the object was written or recreated meanwhile, which migrated it.
 */
async function rewrite(client: Client, resource: Handle, { metadata }: ApiObject): Promise<void> {
  const { namespace = "", name, uid, resourceVersion } = metadata;
  const { group, version, kind } = resource;
  const apiVersion = groupVersionOf(group, version);
  const body = { apiVersion, kind, metadata: { name, uid, resourceVersion } };
  await client
    .patch(resource, { namespace, name }, { type: "apply", fieldManager, body })
    .catch((error: unknown) => {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    });
}

function withCondition(
  { status }: Migration,
  { type, message, now }: { readonly type: ConditionType; message: string; now: number },
): Migration["status"] {
  const before = status?.conditions ?? [];
  const ends = type !== "Running";
  if (before.some((each) => each.type === type && each.status === "True")) return status;
  const conditions = before.map((each) =>
    ends && each.type === "Running" ? { ...each, status: "False" } : each,
  );
  const lastUpdateTime = formatTime(now);
  const added = { type, status: "True", lastUpdateTime, reason: reasons[type], message };
  return { ...status, conditions: [...conditions, added] };
}

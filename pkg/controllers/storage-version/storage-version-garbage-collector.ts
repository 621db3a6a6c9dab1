import { type ApiObject, type Draft, type Handle, objectKey, leases } from "#client";
import { isNotFound, resolve } from "#meta";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";
import { isServed } from "../is-served.ts";
import { formatTime } from "../time.ts";

interface ServerStorageVersion {
  readonly apiServerID: string;
  readonly encodingVersion: string;
}

interface StorageVersion extends ApiObject {
  readonly status?: {
    readonly storageVersions?: readonly ServerStorageVersion[];
    readonly commonEncodingVersion?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly lastTransitionTime?: string;
    }[];
  };
}

const leaseNamespace = "kube-system";

/**
 * Removes entries of stopped API servers, i.e. those without an identity Lease, from StorageVersions, and
 * deletes StorageVersions without entries.
 */
export async function runStorageVersionGarbageCollector(context: ControllerContext): Promise<void> {
  const { client, informers } = context;
  const group = resolve("internal.apiserver.{api}", client.domain);
  const names = { plural: "storageversions", kind: "StorageVersion", namespaced: false };
  const handle: Handle<StorageVersion> = { group, version: "v1alpha1", ...names };
  if (!(await isServed(context, handle))) return;
  const queue = newWorkQueue(context, "storage_version_garbage_collector_storageversions");
  const leaseHandle = leases(client.domain);
  const label = resolve("apiserver.{label}/identity", client.domain);
  const isIdentity = ({ metadata }: ApiObject) => metadata.labels?.[label] === "kube-apiserver";
  const known = informers.of(leaseHandle, { namespace: leaseNamespace });
  const versions = informers.of(handle);
  versions.subscribe(({ type, object }) => {
    const isUnknown = (server: string) => {
      const lease = known.get(`${leaseNamespace}/${server}`);
      return lease === undefined || !isIdentity(lease);
    };
    const doubtful = !known.synced || serversOf(object).some(isUnknown);
    if (type !== "deleted" && doubtful) queue.add(objectKey(object));
  });
  known.subscribe(({ type, object }) => {
    if (type !== "deleted" || !isIdentity(object)) return;
    for (const version of versions.all()) {
      if (serversOf(version).includes(object.metadata.name)) queue.add(objectKey(version));
    }
  });
  await Promise.all([known.untilSynced(), versions.untilSynced()]);
  const isLive = async (name: string): Promise<boolean> => {
    try {
      return isIdentity(await client.get(leaseHandle, { namespace: leaseNamespace, name }));
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  };
  await queue.run(async (name) => {
    const found = versions.get(name);
    if (found === undefined) return;
    const reported = found.status?.storageVersions ?? [];
    // Live reads: the informer may lack the Lease of a server that just started.
    const live = await Promise.all(reported.map(({ apiServerID }) => isLive(apiServerID)));
    const left = reported.filter((_, index) => live[index]);
    if (left.length === reported.length) return;
    if (left.length === 0) {
      const preconditions = { resourceVersion: found.metadata.resourceVersion };
      await client.delete(handle, { name }, { preconditions });
      return;
    }
    const draft = { ...found, status: statusOf(found, left, context.clock.now()) };
    await client.update(handle, draft as Draft<StorageVersion>, { subresource: "status" });
  });
}

function serversOf({ status }: StorageVersion): readonly string[] {
  return (status?.storageVersions ?? []).map(({ apiServerID }) => apiServerID);
}

/** Status for the remaining servers, with the common encoding version if they agree. */
function statusOf(
  { metadata, status }: StorageVersion,
  left: readonly ServerStorageVersion[],
  now: number,
): object {
  const encodings = new Set(left.map(({ encodingVersion }) => encodingVersion));
  const [common] = encodings.size === 1 ? encodings : [];
  const type = "AllEncodingVersionsEqual";
  const state = common === undefined ? "False" : "True";
  const what = common === undefined ? "Unset" : "Set";
  const before = status?.conditions?.find((each) => each.type === type);
  const changed = before?.status !== state || status?.commonEncodingVersion !== common;
  const condition = {
    type,
    status: state,
    observedGeneration: Number(metadata.generation ?? 0),
    reason: `CommonEncodingVersion${what}`,
    message: `Common encoding version ${what.toLowerCase()}`,
    lastTransitionTime: changed ? formatTime(now) : before?.lastTransitionTime,
  };
  const others = (status?.conditions ?? []).filter((each) => each.type !== type);
  const version = common === undefined ? {} : { commonEncodingVersion: common };
  return { storageVersions: left, ...version, conditions: [...others, condition] };
}

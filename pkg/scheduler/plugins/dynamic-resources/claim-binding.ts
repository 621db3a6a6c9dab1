/** Claim writes of the binding cycle. */
import { objectKey } from "#client";
import { claimFinalizer } from "#dynamic-resource-allocation";
import { type AllocationResult, namespaceOf, type Pod, type ResourceClaim } from "#kinds";
import { isConflict } from "#meta";
import type { PluginHandle } from "../../framework/handle.ts";

/** Maximum attempts of a conflicting claim write. */
const maxAttempts = 5;
const pauseMs = 10;

/**
 * Reserves the claim for the pod, and writes a new allocation if any.
 * @throws if the claim is deleted, has another allocation, or the write fails
 */
export async function bindClaim(
  handle: PluginHandle,
  pod: Pod,
  claim: ResourceClaim,
  allocation: AllocationResult | undefined,
): Promise<ResourceClaim> {
  const { client, clock, signal, devices } = handle;
  const at = { namespace: namespaceOf(claim), name: claim.metadata.name };
  let current = claim;
  for (let attempt = 1; ; attempt++) {
    try {
      return await write(handle, pod, current, allocation);
    } catch (error) {
      if (!isConflict((error as Error).cause ?? error) || attempt === maxAttempts) throw error;
    }
    await clock.sleep(pauseMs, signal);
    current = await client.get(devices.claimHandle, at);
  }
}

async function write(
  { client, devices, domain }: PluginHandle,
  pod: Pod,
  claim: ResourceClaim,
  allocation: AllocationResult | undefined,
): Promise<ResourceClaim> {
  const key = objectKey(claim);
  if (claim.metadata.deletionTimestamp !== undefined) {
    throw new Error(`claim ${key} got deleted in the meantime`);
  }
  let current = claim;
  if (allocation !== undefined) {
    if (claim.status?.allocation !== undefined) {
      throw new Error(`claim ${key} got allocated elsewhere in the meantime`);
    }
    const finalizer = claimFinalizer(domain);
    const { finalizers = [] } = claim.metadata;
    if (!finalizers.includes(finalizer)) {
      const metadata = { ...claim.metadata, finalizers: [...finalizers, finalizer] };
      current = await client
        .update(devices.claimHandle, { ...claim, metadata })
        .catch(failed(`add finalizer to claim ${key}`));
    }
  }
  const { name, uid } = pod.metadata;
  const reservedFor = [...(current.status?.reservedFor ?? []), { resource: "pods", name, uid }];
  const added = allocation === undefined ? {} : { allocation };
  const draft = { ...current, status: { ...current.status, ...added, reservedFor } };
  const what = allocation === undefined ? "reservation" : "allocation and reservation";
  return client
    .update(devices.claimHandle, draft, { subresource: "status" })
    .catch(failed(`add ${what} to claim ${key}`));
}

function failed(what: string): (error: unknown) => never {
  return (error) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${what}: ${why}`, { cause: error });
  };
}

/** Removes the pod from `reservedFor` of a claim. */
export async function unreserveClaim(
  { client, devices }: PluginHandle,
  pod: Pod,
  claim: ResourceClaim,
): Promise<void> {
  const { uid, name } = claim.metadata;
  const at = { namespace: namespaceOf(claim), name, subresource: "status" };
  const removed = [{ $patch: "delete", uid: pod.metadata.uid }];
  const body = { metadata: { uid }, status: { reservedFor: removed } };
  await client.patch(devices.claimHandle, at, { type: "strategic", body });
}

/** Deallocates a claim that no other pod uses. */
export async function deallocateClaim(
  { client, devices }: PluginHandle,
  claim: ResourceClaim,
): Promise<void> {
  const { allocation: _a, reservedFor: _r, devices: _d, ...status } = claim.status ?? {};
  await client.update(devices.claimHandle, { ...claim, status }, { subresource: "status" });
}

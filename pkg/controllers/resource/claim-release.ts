import type { Draft, Handle, Informer } from "#client";
import { claimFinalizer } from "#dynamic-resource-allocation";
import {
  type ConsumerReference,
  type Pod,
  pods as podHandle,
  type ResourceClaim,
  resourceClaims,
} from "#kinds";
import { ignoreNotFound } from "#meta";
import type { ControllerContext } from "../controller-context.ts";
import { isDone, owningPodOf } from "./pod-claims.ts";

/** Removes reservations of finished pods, deallocates unused claims, and deletes those generated for them. */
export class ClaimRelease {
  private readonly handle: Handle<ResourceClaim>;
  private readonly pods: Informer<Pod>;
  private readonly finalizer: string;

  constructor(private readonly context: ControllerContext) {
    const { client, informers } = context;
    this.handle = resourceClaims(client.domain);
    this.pods = informers.of(podHandle);
    this.finalizer = claimFinalizer(client.domain);
  }

  async sync(claim: ResourceClaim): Promise<void> {
    const { namespace = "", deletionTimestamp, finalizers = [] } = claim.metadata;
    const { reservedFor = [] } = claim.status ?? {};
    const using = await Promise.all(reservedFor.map((each) => this.isUsing(namespace, each)));
    const valid = reservedFor.filter((_, index) => using[index]);
    const isOurs = finalizers.includes(this.finalizer);
    const isUnused = valid.length === 0;
    let current = claim;
    const isDeallocated = isUnused && isOurs && (reservedFor.length > 0 || !!deletionTimestamp);
    if (valid.length < reservedFor.length || (isDeallocated && claim.status?.allocation)) {
      current = await this.setReservations(claim, valid, isDeallocated);
    }
    // Not from other unallocated claims: a scheduler adds the finalizer before it stores the allocation.
    if (isDeallocated && current.status?.allocation === undefined) {
      await this.removeFinalizer(current);
    }
    if (isUnused) await this.deleteIfDone(claim);
  }

  /** Whether a pod still uses the claim; a pod that is not cached is read live. */
  private async isUsing(namespace: string, { apiGroup = "", ...user }: ConsumerReference) {
    const { resource, name, uid } = user;
    if (apiGroup !== "" || resource !== "pods") {
      throw new Error(`unsupported ReservedFor entry: ${JSON.stringify({ apiGroup, ...user })}`);
    }
    const { client } = this.context;
    const pod =
      this.pods.get(`${namespace}/${name}`) ??
      (await client.get(podHandle, { namespace, name }).catch(ignoreNotFound));
    return pod?.metadata.uid === uid && !isDone(pod);
  }

  private async setReservations(
    claim: ResourceClaim,
    reservedFor: readonly ConsumerReference[],
    isDeallocated: boolean,
  ): Promise<ResourceClaim> {
    const { allocation, reservedFor: _before, ...rest } = claim.status ?? {};
    const status = {
      ...rest,
      ...(reservedFor.length === 0 ? {} : { reservedFor }),
      ...(allocation === undefined || isDeallocated ? {} : { allocation }),
    };
    const draft = { ...claim, status };
    return this.context.client.update(this.handle, draft, { subresource: "status" });
  }

  private async removeFinalizer(claim: ResourceClaim): Promise<void> {
    const { metadata } = claim;
    const finalizers = (metadata.finalizers ?? []).filter((name) => name !== this.finalizer);
    const draft: Draft<ResourceClaim> = { ...claim, metadata: { ...metadata, finalizers } };
    await this.context.client.update(this.handle, draft).catch(ignoreNotFound);
  }

  /** Deletes a generated claim whose pod is done; the garbage collector handles claims of deleted pods. */
  private async deleteIfDone(claim: ResourceClaim): Promise<void> {
    const { namespace = "", name, uid, deletionTimestamp } = claim.metadata;
    const owner = owningPodOf(claim);
    if (owner === undefined || deletionTimestamp !== undefined) return;
    const pod = this.pods.get(`${namespace}/${owner.name}`);
    if (pod === undefined || (pod.metadata.uid === owner.uid && !isDone(pod))) return;
    const options = { preconditions: { uid } };
    await this.context.client
      .delete(this.handle, { namespace, name }, options)
      .catch(ignoreNotFound);
  }
}

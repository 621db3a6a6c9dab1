import { type Handle, type Informer, objectKey, CoreEventRecorder } from "#client";
import { checkClaimOwner, claimKeysOf, claimNameOf } from "#dynamic-resource-allocation";
import {
  type Pod,
  type PodResourceClaim,
  pods as podHandle,
  type ResourceClaim,
  resourceClaims,
} from "#kinds";
import { groupVersionOf } from "#meta";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";
import { isServed } from "../is-served.ts";
import { ClaimGenerator } from "./claim-generator.ts";
import { ClaimRelease } from "./claim-release.ts";
import { isDone, isOwner } from "./pod-claims.ts";

export interface ResourceClaimOptions {
  readonly resourceClaimWorkers: number;
}

/** kube-controller-manager's default. */
export const defaultResourceClaimWorkers = 50;

const index = "resource-claims";
/** Maximum number of entries in `status.reservedFor`. */
const maxReservations = 256;

/**
 * Creates ResourceClaims from pods' templates, reserves allocated claims for pods that were bound without
 * the scheduler, and releases claims of finished pods.
 */
export async function runResourceClaimController(
  context: ControllerContext,
  { resourceClaimWorkers: workers }: ResourceClaimOptions,
): Promise<void> {
  const { client, informers } = context;
  const handle = resourceClaims(client.domain);
  if (!(await isServed(context, handle))) return;
  const queue = newWorkQueue(context, "resource_claim");
  const recorder = new CoreEventRecorder(context, "resource_claim");
  const pods = informers.of(podHandle);
  const claims = informers.of(handle);
  pods.addIndex(index, claimKeysOf);
  pods.subscribe(({ type, object }) => {
    if ((object.spec?.resourceClaims ?? []).length === 0) return;
    if (type === "deleted" || isDone(object)) {
      for (const key of claimKeysOf(object)) queue.add(`claim:${key}`);
    }
    if (type !== "deleted") queue.add(`pod:${objectKey(object)}`);
  });
  claims.subscribe(({ type, object }) => {
    if (type !== "deleted") queue.add(`claim:${objectKey(object)}`);
    const users = pods.indexed(index, objectKey(object));
    for (const pod of users) queue.add(`pod:${objectKey(pod)}`);
  });
  const sync = new PodClaimSync(context, recorder, claims, handle);
  const release = new ClaimRelease(context);
  await Promise.all([pods.untilSynced(), claims.untilSynced(), sync.untilSynced()]);
  const work = async (key: string) => {
    const [kind, name = ""] = key.split(":");
    if (kind === "pod") {
      const pod = pods.get(name);
      // Do not recreate a claim that was deleted because its pod is done.
      if (pod === undefined || pod.metadata.deletionTimestamp || isDone(pod)) return;
      await sync.sync(pod);
    } else {
      const claim = claims.get(name);
      if (claim !== undefined) await release.sync(claim);
    }
  };
  await Promise.all([recorder.run(), queue.run(work, { workers })]);
}

class PodClaimSync {
  private readonly generator: ClaimGenerator;

  constructor(
    private readonly context: ControllerContext,
    private readonly recorder: CoreEventRecorder,
    private readonly claims: Informer<ResourceClaim>,
    private readonly handle: Handle<ResourceClaim>,
  ) {
    this.generator = new ClaimGenerator(context);
  }

  untilSynced(): Promise<void> {
    return this.generator.untilSynced();
  }

  async sync(pod: Pod): Promise<void> {
    const generated = new Map<string, string>();
    for (const claim of pod.spec?.resourceClaims ?? []) {
      try {
        const name = await this.generate(pod, claim);
        if (name !== undefined) generated.set(claim.name, name);
      } catch (error) {
        const cause = error instanceof Error ? error.message : String(error);
        const message = `PodResourceClaim ${claim.name}: ${cause}`;
        const reason = "FailedResourceClaimCreation";
        this.recorder.record(podHandle, pod, { type: "Warning", reason, message });
        throw new Error(`pod ${objectKey(pod)}, ${message}`, { cause: error });
      }
    }
    if (generated.size > 0) await this.applyClaimNames(pod, generated);
    if (pod.spec?.nodeName) await this.reserveAll(pod);
  }

  /** Generates a claim; returns its name if the pod's status lacks it or has another one. */
  private async generate(pod: Pod, claim: PodResourceClaim): Promise<string | undefined> {
    const known = claimNameOf(pod, claim);
    if (known === "none" || claim.resourceClaimTemplateName === undefined) return undefined;
    if (known !== "unknown") {
      const present = this.claims.get(`${pod.metadata.namespace}/${known.name}`);
      // If another owner's claim has the name, the pod gets a new claim.
      if (present !== undefined && isOwner(present, pod)) return undefined;
    }
    const name = await this.generator.ensure(pod, claim);
    return known !== "unknown" && known.name === name ? undefined : name;
  }

  /** Applies the claim names to the pod's status, with kube-controller-manager's field manager. */
  private async applyClaimNames(pod: Pod, generated: ReadonlyMap<string, string>): Promise<void> {
    const { namespace = "", name } = pod.metadata;
    const others = (pod.status?.resourceClaimStatuses ?? []).filter(
      (status) => !generated.has(status.name),
    );
    const added = [...generated].map(([claim, resourceClaimName]) => ({
      name: claim,
      resourceClaimName,
    }));
    const body = {
      apiVersion: groupVersionOf(podHandle.group, podHandle.version),
      kind: podHandle.kind,
      metadata: { namespace, name, uid: pod.metadata.uid },
      status: { resourceClaimStatuses: [...others, ...added] },
    };
    const at = { namespace, name, subresource: "status" };
    const fieldManager = "ResourceClaimController";
    await this.context.client.patch(podHandle, at, {
      type: "apply",
      fieldManager,
      force: true,
      body,
    });
  }

  private async reserveAll(pod: Pod): Promise<void> {
    for (const podClaim of pod.spec?.resourceClaims ?? []) {
      const found = claimNameOf(pod, podClaim);
      if (typeof found === "string") continue;
      const claim = this.claims.get(`${pod.metadata.namespace}/${found.name}`);
      if (claim === undefined) return;
      if (found.isGenerated) checkClaimOwner(claim, pod);
      const { allocation, reservedFor = [] } = claim.status ?? {};
      const { name, uid } = pod.metadata;
      const isReserved = reservedFor.some((each) => each.uid === uid);
      if (allocation === undefined || isReserved) continue;
      if (reservedFor.length >= maxReservations) continue;
      const user = { resource: "pods", name, uid };
      const draft = { ...claim, status: { ...claim.status, reservedFor: [...reservedFor, user] } };
      await this.context.client.update(this.handle, draft, { subresource: "status" });
    }
  }
}

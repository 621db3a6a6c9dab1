import type { Client, Draft, Informer, CoreEventRecorder } from "#client";
import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type Pod,
  pods,
  type StatefulSet,
  statefulSets,
} from "#kinds";
import { goQuote, isNotFound } from "#meta";
import { statusCodeOf } from "../../controller-context.ts";
import { combinedError } from "../../owners/combined-error.ts";
import { WrittenObjects } from "../../written-objects.ts";
import {
  claimDrafts,
  type ClaimPod,
  hasOtherController,
  isStaleClaim,
  wantedClaimOwners,
} from "./claims.ts";
import { type IdentityLabels, isInRange, ordinalOf, withIdentity } from "./stateful-pods.ts";

interface Parts {
  readonly client: Client;
  readonly recorder: CoreEventRecorder;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly labels: IdentityLabels;
}

/** Creates, updates and deletes the pods and claims of StatefulSets, and records Events. */
export class StatefulPodControl {
  private readonly claims: WrittenObjects<PersistentVolumeClaim>;

  constructor(private readonly parts: Parts) {
    this.claims = new WrittenObjects(parts.claims);
  }

  /** Creates the claims of a pod, then the pod. */
  async create(
    set: StatefulSet,
    draft: Draft<Pod> & { readonly metadata: { readonly name: string } },
    ordinal: number,
  ): Promise<void> {
    const { name } = draft.metadata;
    try {
      await this.createClaims(set, { name, uid: undefined, isInRange: true }, ordinal);
      await this.parts.client.create(pods, draft);
    } catch (error) {
      // The cache is stale, or another pod has the name.
      if (statusCodeOf(error) !== 409) this.recordPod(set, "create", name, error);
      throw error;
    }
    this.recordPod(set, "create", name);
  }

  /** Deletes a pod; not found is success. */
  async delete(set: StatefulSet, { metadata }: Pod): Promise<void> {
    const { namespace = "", name, uid } = metadata;
    try {
      await this.parts.client.delete(pods, { namespace, name }, { preconditions: { uid } });
    } catch (error) {
      if (isNotFound(error)) return;
      this.recordPod(set, "delete", name, error);
      throw error;
    }
    this.recordPod(set, "delete", name);
  }

  /** Creates the missing claims of a pending pod, and sets their owners. */
  async createMissingClaims(set: StatefulSet, pod: Pod): Promise<void> {
    await this.createClaims(set, claimPodOf(set, pod), ordinalOf(pod));
    await this.updateClaims(set, pod);
  }

  /** Restores the labels and volumes of a pod's identity, and the owners of its claims. */
  async repair(set: StatefulSet, pod: Pod): Promise<void> {
    const { name } = pod.metadata;
    const wanted = withIdentity(set, pod, this.parts.labels);
    try {
      const hasNewVolumes = wanted.spec?.volumes !== pod.spec?.volumes;
      if (hasNewVolumes) await this.createClaims(set, claimPodOf(set, pod), ordinalOf(pod));
      const hasNewOwners = await this.updateClaims(set, pod);
      if (wanted === pod && !hasNewOwners) return;
      if (wanted !== pod) await this.parts.client.update(pods, wanted);
    } catch (error) {
      this.recordPod(set, "update", name, error);
      throw error;
    }
    this.recordPod(set, "update", name);
  }

  /** Sets the owners of a pod's claims by the retention policy; returns whether any changed. */
  async updateClaims(set: StatefulSet, pod: Pod): Promise<boolean> {
    const { client } = this.parts;
    const user = claimPodOf(set, pod);
    let hasChanged = false;
    for (const claim of this.claimsOf(set, ordinalOf(pod))) {
      const owners = wantedClaimOwners(claim, set, user);
      if (hasOtherController(claim.metadata.ownerReferences ?? [], set, user)) {
        this.recordConflictingController(set, claim);
      }
      if (owners === undefined) continue;
      const metadata = { ...claim.metadata, ownerReferences: owners };
      this.claims.add(await client.update(persistentVolumeClaims, { ...claim, metadata }));
      hasChanged = true;
    }
    return hasChanged;
  }

  /** Whether a claim of a pod to create is about to be deleted with an earlier pod of the name. */
  hasStaleClaim(set: StatefulSet, name: string, ordinal: number): boolean {
    return this.claimsOf(set, ordinal).some((claim) => isStaleClaim(claim, set, name));
  }

  private claimsOf(set: StatefulSet, ordinal: number): readonly PersistentVolumeClaim[] {
    return claimDrafts(set, ordinal).flatMap(({ metadata }) => {
      const claim = this.claims.latest(`${set.metadata.namespace ?? ""}/${metadata.name}`);
      return claim ?? [];
    });
  }

  private async createClaims(set: StatefulSet, user: ClaimPod, ordinal: number): Promise<void> {
    const failures: unknown[] = [];
    for (const draft of claimDrafts(set, ordinal)) {
      const { name } = draft.metadata;
      const found = this.claims.latest(`${set.metadata.namespace ?? ""}/${name}`);
      if (found === undefined) {
        await this.createClaim(set, user, draft).catch((error: unknown) => failures.push(error));
      } else if (found.metadata.deletionTimestamp !== undefined) {
        failures.push(new Error(`pvc ${name} is being deleted`));
      }
    }
    if (failures.length > 0) throw combinedError(failures);
  }

  private async createClaim(
    set: StatefulSet,
    user: ClaimPod,
    draft: ReturnType<typeof claimDrafts>[number],
  ): Promise<void> {
    const { name } = draft.metadata;
    const empty: PersistentVolumeClaim = { metadata: { name, uid: "", resourceVersion: "" } };
    const ownerReferences = wantedClaimOwners(empty, set, user) ?? [];
    const metadata = { ...draft.metadata, ownerReferences };
    const inSet = `Pod ${user.name} in StatefulSet ${set.metadata.name}`;
    try {
      await this.parts.client.create(persistentVolumeClaims, { ...draft, metadata });
    } catch (error) {
      // The cache is stale: the claim exists.
      if (statusCodeOf(error) === 409) return;
      const reason = (error as Error).message;
      const message = `create Claim ${name} for ${inSet} failed error: ${reason}`;
      this.record(set, "Warning", ["FailedCreate", message]);
      throw new Error(`failed to create PVC ${name}: ${reason}`, { cause: error });
    }
    this.record(set, "Normal", ["SuccessfulCreate", `create Claim ${name} ${inSet} success`]);
  }

  private recordConflictingController(set: StatefulSet, { metadata }: PersistentVolumeClaim): void {
    // The misspelling is kube-controller-manager's.
    const message =
      `PersistentVolumeClaim ${metadata.name} has a conflicting OwnerReference that acts as a ` +
      "manging controller, the retention policy is ignored for this claim";
    this.record(set, "Warning", ["ConflictingController", message]);
  }

  private recordPod(
    set: StatefulSet,
    verb: "create" | "update" | "delete",
    name: string,
    error?: unknown,
  ): void {
    const title = verb.charAt(0).toUpperCase() + verb.slice(1);
    const what = `${verb} Pod ${name} in StatefulSet ${set.metadata.name}`;
    if (error === undefined) {
      this.record(set, "Normal", [`Successful${title}`, `${what} successful`]);
    } else {
      const reason = error instanceof Error ? error.message : goQuote(String(error));
      this.record(set, "Warning", [`Failed${title}`, `${what} failed error: ${reason}`]);
    }
  }

  private record(
    set: StatefulSet,
    type: "Normal" | "Warning",
    [reason, message]: readonly [string, string],
  ): void {
    this.parts.recorder.record(statefulSets, set, { type, reason, message });
  }
}

function claimPodOf(set: StatefulSet, pod: Pod): ClaimPod {
  const { name, uid } = pod.metadata;
  return { name, uid, isInRange: isInRange(set, ordinalOf(pod)) };
}

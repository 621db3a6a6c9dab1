import { type Clock, KeyedMutex } from "#base";
import type { Client } from "#client";
import { namespaceOf, type Pod, type PodCondition, pods } from "#kinds";
import type { StatusPatch } from "./framework/handle.ts";

/** Serializes the writes to each pod, so that a status patch never follows its binding. */
export class PodWriter {
  private readonly mutex = new KeyedMutex();

  constructor(
    private readonly client: Client,
    private readonly clock: Clock,
    private readonly currentPod: (pod: Pod) => Pod | undefined,
  ) {}

  inOrder<T>({ metadata: { uid } }: Pod, work: () => Promise<T>): Promise<T> {
    return this.mutex.runExclusive(uid, work);
  }

  /**
   * Patches the differences to the status. The UID guards against another pod with the same name.
   */
  async patchStatus(pod: Pod, patch: StatusPatch): Promise<void> {
    await this.inOrder(pod, async () => {
      const current = this.currentPod(pod) ?? pod;
      const status = this.changes(current, patch);
      if (Object.keys(status).length === 0) return;
      const { name, uid } = pod.metadata;
      const at = { namespace: namespaceOf(pod), name, subresource: "status" };
      const body = { metadata: { uid }, status };
      await this.client.patch(pods, at, { type: "strategic", body });
    });
  }

  private changes({ metadata, status = {} }: Pod, patch: StatusPatch): object {
    const { condition, nominatedNodeName } = patch;
    const known = status.conditions?.find(({ type }) => type === condition?.type);
    const isNewNode =
      nominatedNodeName !== undefined && nominatedNodeName !== (status.nominatedNodeName ?? "");
    const node = isNewNode ? { nominatedNodeName: nominatedNodeName || null } : {};
    if (condition === undefined || isSame(known, condition)) return node;
    const isTransition = known?.status !== condition.status;
    const now = new Date(this.clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
    const { generation } = metadata;
    const written = {
      ...condition,
      lastTransitionTime: isTransition ? now : (known?.lastTransitionTime ?? now),
      ...(generation === undefined ? {} : { observedGeneration: Number(generation) }),
    };
    return { conditions: [written], ...node };
  }
}

function isSame(
  known: PodCondition | undefined,
  { status, reason, message }: NonNullable<StatusPatch["condition"]>,
): boolean {
  return known?.status === status && known.reason === reason && known.message === message;
}

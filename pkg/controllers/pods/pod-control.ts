import type { ApiObject, Client, Draft, Handle, CoreEventRecorder } from "#client";
import { type Pod, pods, type PodTemplateSpec } from "#kinds";
import { isNotFound } from "#meta";
import { isTerminating } from "../controller-context.ts";
import { controllerRef } from "../owners/controller-ref.ts";

/** Pod draft from a workload's template, with a generated name. */
export function podFromTemplate(
  template: PodTemplateSpec,
  owner: ApiObject,
  ownerResource: Handle,
): Draft<Pod> {
  const { labels, annotations, finalizers } = template.metadata ?? {};
  const { namespace = "", name } = owner.metadata;
  return {
    metadata: {
      namespace,
      generateName: `${name}-`,
      labels: { ...labels },
      annotations: { ...annotations },
      finalizers: [...(finalizers ?? [])],
      ownerReferences: [controllerRef(ownerResource, owner)],
    },
    spec: { ...template.spec },
  };
}

/** Creates and deletes pods of workloads of one kind, and records Events on the workload. */
export class PodControl {
  constructor(
    private readonly client: Client,
    private readonly recorder: CoreEventRecorder,
    private readonly ownerResource: Handle,
  ) {}

  /** Creates a pod. Records SuccessfulCreate or FailedCreate, except for a terminating namespace. */
  async create(owner: ApiObject, draft: Draft<Pod>): Promise<Pod> {
    try {
      const pod = await this.client.create(pods, draft);
      this.record(owner, "Normal", "SuccessfulCreate", `Created pod: ${pod.metadata.name}`);
      return pod;
    } catch (error) {
      if (!isTerminating(error)) {
        this.record(owner, "Warning", "FailedCreate", `Error creating: ${messageOf(error)}`);
      }
      throw error;
    }
  }

  /**
   * Deletes a pod. Records SuccessfulDelete or FailedDelete.
   * @throws StatusError with code 404 if it does not exist, without an Event
   */
  async delete(owner: ApiObject, { metadata }: Pod): Promise<void> {
    const { namespace = "", name, uid } = metadata;
    try {
      await this.client.delete(pods, { namespace, name }, { preconditions: { uid } });
    } catch (error) {
      if (isNotFound(error)) throw error;
      this.record(owner, "Warning", "FailedDelete", `Error deleting: ${messageOf(error)}`);
      throw new Error(`unable to delete pods: ${messageOf(error)}`, { cause: error });
    }
    this.record(owner, "Normal", "SuccessfulDelete", `Deleted pod: ${name}`);
  }

  private record(
    owner: ApiObject,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
  ): void {
    this.recorder.record(this.ownerResource, owner, { type, reason, message });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

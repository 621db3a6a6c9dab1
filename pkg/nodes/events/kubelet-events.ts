import { CoreEventRecorder, type Handle, TokenBucket } from "#client";
import { nodes, type Pod, pods } from "#kinds";
import type { KubeletEvent } from "./kubelet-event.ts";
import type { NodesContext, NodesSettings } from "../settings.ts";

/** Burst of Events above the rate: the kubelet's queue length. */
const burst = 1_000;

/** Records Events of all nodes of the process, rate-limited. */
export class KubeletEvents {
  private readonly recorder: CoreEventRecorder;
  /** Undefined = no rate limit. */
  private readonly bucket: TokenBucket | undefined;

  constructor(context: NodesContext, { eventsPerSecond: perSecond }: NodesSettings) {
    this.recorder = new CoreEventRecorder({ ...context, client: context.storageClient }, "kubelet");
    if (perSecond > 0) this.bucket = new TokenBucket(context.clock, { perSecond, burst });
  }

  /** Sends Events until the signal aborts. */
  run(): Promise<void> {
    return this.recorder.run();
  }

  /** @param host name of the node whose kubelet records the Event */
  record(
    resource: Handle,
    object: Parameters<CoreEventRecorder["record"]>[1],
    event: KubeletEvent & { readonly host: string; readonly fieldPath?: string },
  ): void {
    if (this.bucket?.tryTake() !== false) this.recorder.record(resource, object, event);
  }

  /** @param fieldPath path of the container in the pod; absent = the Event is about the pod */
  recordPod(pod: Pod, event: KubeletEvent, fieldPath?: string): void {
    const host = pod.spec?.nodeName ?? "";
    this.record(pods, pod, { ...event, host, ...(fieldPath === undefined ? {} : { fieldPath }) });
  }

  /** Records an Event about a node; like the kubelet's, it has the node's name as uid. */
  recordNode(name: string, event: KubeletEvent): void {
    const metadata = { name, uid: name, resourceVersion: "" };
    this.record(nodes, { metadata }, { ...event, host: name });
  }
}

import { deepEqual } from "#base";
import { type ApiObject, type Informer, type InformerEvent, objectKey } from "#client";
import type { Pod, Service } from "#kinds";
import { isReady } from "../../pods/pod-state.ts";
import { selects, serviceSelector } from "./pod-endpoints.ts";

/** Name of the index that the users of an informer share. */
const index = "namespace";

/** Finds the pods of Services, and the Services that a change of a pod concerns. */
export class ServicePods {
  /** @param followsPhase whether the end of a pod concerns its Services without a change of Ready */
  constructor(
    private readonly pods: Informer<Pod>,
    private readonly services: Informer<Service>,
    private readonly followsPhase: boolean,
  ) {
    const namespaceOf = ({ metadata }: ApiObject) => [metadata.namespace ?? ""];
    pods.addIndex(index, namespaceOf);
    services.addIndex(index, namespaceOf);
  }

  /** Pods that the selector of the Service selects. */
  of({ metadata }: Service, selector: Readonly<Record<string, string>>): readonly Pod[] {
    return this.pods
      .indexed(index, metadata.namespace ?? "")
      .filter((pod) => selects(selector, pod.metadata.labels));
  }

  /** Keys of the Services whose endpoints a change may change. */
  servicesOf(change: InformerEvent<Pod>): ReadonlySet<string> {
    const { type, object } = change;
    const current = this.selecting(object);
    if (type !== "updated") return current;
    const { before } = change;
    const hasEnded = this.followsPhase && before.status?.phase !== object.status?.phase;
    const isOtherPod = hasEnded || hasChanged(before, object);
    const isElsewhere = hasMoved(before, object);
    if (!isElsewhere) return isOtherPod ? current : new Set();
    const former = this.selecting(before);
    const all = [...current, ...former];
    if (isOtherPod) return new Set(all);
    return new Set(all.filter((key) => !current.has(key) || !former.has(key)));
  }

  private selecting({ metadata }: Pod): ReadonlySet<string> {
    const keys = new Set<string>();
    for (const service of this.services.indexed(index, metadata.namespace ?? "")) {
      const selector = serviceSelector(service);
      if (selector === undefined || !selects(selector, metadata.labels)) continue;
      keys.add(objectKey(service));
    }
    return keys;
  }
}

/** Whether the pod may belong to other Services, or under another hostname. */
function hasMoved(before: Pod, after: Pod): boolean {
  const { hostname, subdomain } = before.spec ?? {};
  if (hostname !== after.spec?.hostname || subdomain !== after.spec?.subdomain) return true;
  return !deepEqual(before.metadata.labels ?? {}, after.metadata.labels ?? {});
}

/** Whether the pod is another endpoint: by its addresses, readiness, deletion or node. */
function hasChanged(before: Pod, after: Pod): boolean {
  const shown = (pod: Pod) => [
    isReady(pod),
    pod.metadata.deletionTimestamp,
    pod.status?.podIPs?.map(({ ip }) => ip),
    pod.spec?.nodeName,
  ];
  return !deepEqual(shown(before), shown(after));
}

import { deepEqual } from "#base";
import { type Informer, type InformerEvent, objectKey } from "#client";
import { ByNamespace } from "../../by-namespace.ts";
import type { Pod } from "../../kinds/pod.ts";
import type { Service } from "../../kinds/network.ts";
import { isReady } from "../../pods/pod-state.ts";
import { selects, serviceSelector } from "./pod-endpoints.ts";

/** Finds the pods of Services, and the Services that a change of a pod concerns. */
export class ServicePods {
  private readonly pods: ByNamespace<Pod>;
  private readonly services: ByNamespace<Service>;

  /** @param followsPhase whether the end of a pod concerns its Services without a change of Ready */
  constructor(
    pods: Informer<Pod>,
    services: Informer<Service>,
    private readonly followsPhase: boolean,
  ) {
    this.pods = new ByNamespace(pods);
    this.services = new ByNamespace(services);
  }

  /** Pods that the selector of the Service selects. */
  of({ metadata }: Service, selector: Readonly<Record<string, string>>): readonly Pod[] {
    const pods = [...this.pods.in(metadata.namespace ?? "")];
    return pods.filter((pod) => selects(selector, pod.metadata.labels));
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
    for (const service of this.services.in(metadata.namespace ?? "")) {
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

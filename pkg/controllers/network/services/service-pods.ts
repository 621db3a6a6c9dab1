import { deepEqual } from "#base";
import { type ApiObject, type Informer, type InformerEvent, objectKey } from "#client";
import type { Pod, Service } from "#kinds";
import { isReady } from "../../pods/pod-state.ts";
import { selects, serviceSelector } from "./pod-endpoints.ts";

/** Name of the index, shared by all users of an informer. */
const index = "namespace";

/** Finds the pods of Services, and the Services affected by a pod change. */
export class ServicePods {
  /** @param followsPhase whether a change of phase alone affects the pod's Services */
  constructor(
    private readonly pods: Informer<Pod>,
    private readonly services: Informer<Service>,
    private readonly followsPhase: boolean,
  ) {
    const namespaceOf = ({ metadata }: ApiObject) => [metadata.namespace ?? ""];
    pods.addIndex(index, namespaceOf);
    services.addIndex(index, namespaceOf);
  }

  /** Pods that match the selector of the Service. */
  of({ metadata }: Service, selector: Readonly<Record<string, string>>): readonly Pod[] {
    return this.pods
      .indexed(index, metadata.namespace ?? "")
      .filter((pod) => selects(selector, pod.metadata.labels));
  }

  /** Keys of the Services whose endpoints a pod change may affect. */
  servicesOf(change: InformerEvent<Pod>): ReadonlySet<string> {
    const { type, object } = change;
    const current = this.servicesSelecting(object);
    if (type !== "updated") return current;
    const { before } = change;
    const hasEnded = this.followsPhase && before.status?.phase !== object.status?.phase;
    const isOtherPod = hasEnded || isEndpointChanged(before, object);
    const isElsewhere = isIdentityChanged(before, object);
    if (!isElsewhere) return isOtherPod ? current : new Set();
    const former = this.servicesSelecting(before);
    const all = [...current, ...former];
    if (isOtherPod) return new Set(all);
    return new Set(all.filter((key) => !current.has(key) || !former.has(key)));
  }

  private servicesSelecting({ metadata }: Pod): ReadonlySet<string> {
    const keys = new Set<string>();
    for (const service of this.services.indexed(index, metadata.namespace ?? "")) {
      const selector = serviceSelector(service);
      if (selector === undefined || !selects(selector, metadata.labels)) continue;
      keys.add(objectKey(service));
    }
    return keys;
  }
}

/** Whether labels, hostname or subdomain changed: the pod may belong to other Services. */
function isIdentityChanged(before: Pod, after: Pod): boolean {
  const { hostname, subdomain } = before.spec ?? {};
  if (hostname !== after.spec?.hostname || subdomain !== after.spec?.subdomain) return true;
  return !deepEqual(before.metadata.labels ?? {}, after.metadata.labels ?? {});
}

/** Whether addresses, readiness, deletionTimestamp or node changed. */
function isEndpointChanged(before: Pod, after: Pod): boolean {
  const endpointFields = (pod: Pod) => [
    isReady(pod),
    pod.metadata.deletionTimestamp,
    pod.status?.podIPs?.map(({ ip }) => ip),
    pod.spec?.nodeName,
  ];
  return !deepEqual(endpointFields(before), endpointFields(after));
}

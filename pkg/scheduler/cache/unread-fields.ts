/** Removes fields of pods and nodes that no plugin reads, to save memory. */
import { type ApiObject, type Handle, withoutManagedFields } from "#client";
import type { Container, ContainerStatus, Node, Pod, Volume } from "#kinds";

const unreadOfPodSpec = names(
  "activeDeadlineSeconds automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks " +
    "ephemeralContainers hostAliases hostname hostNetwork imagePullSecrets readinessGates " +
    "restartPolicy securityContext serviceAccount serviceAccountName subdomain " +
    "terminationGracePeriodSeconds",
);
const unreadOfContainer = names(
  "args command env envFrom imagePullPolicy lifecycle livenessProbe readinessProbe " +
    "securityContext startupProbe terminationMessagePath terminationMessagePolicy volumeDevices " +
    "volumeMounts workingDir",
);
const unreadOfPodStatus = names(
  "ephemeralContainerStatuses hostIP hostIPs message podIP podIPs qosClass reason",
);
const unreadOfContainerStatus = names(
  "containerID image imageID lastState ready restartCount started state volumeMounts",
);
const unreadOfNodeStatus = names(
  "addresses capacity config daemonEndpoints nodeInfo runtimeHandlers volumesAttached volumesInUse",
);
const unreadOfCondition = names("lastHeartbeatTime lastTransitionTime message reason");
/** Volume sources that every node can mount. */
const portableVolumes = names("configMap downwardAPI emptyDir hostPath projected secret");

/** Informer transform of a scheduler without extenders, which receive complete pods and nodes. */
export function withoutUnreadFields<T extends ApiObject>(object: T, resource: Handle<T>): T {
  const shown = withoutManagedFields(object);
  if (resource.group !== "") return shown;
  if (resource.plural === "pods") return podAsRead(shown as Pod) as ApiObject as T;
  return resource.plural === "nodes" ? (nodeAsRead(shown as Node) as ApiObject as T) : shown;
}

function podAsRead({ metadata, spec = {}, status = {} }: Pod): Pod {
  const container = (each: Container) => without(each, unreadOfContainer);
  const statusOf = (each: ContainerStatus) => without(each, unreadOfContainerStatus);
  const isRead = (volume: Volume) => !Object.keys(volume).some((key) => portableVolumes.has(key));
  return {
    metadata,
    spec: mapLists(without(spec, unreadOfPodSpec), {
      containers: (list) => list.map(container),
      initContainers: (list) => list.map(container),
      volumes: (list) => list.filter(isRead),
    }),
    status: mapLists(without(status, unreadOfPodStatus), {
      containerStatuses: (list) => list.map(statusOf),
      initContainerStatuses: (list) => list.map(statusOf),
    }),
  };
}

function nodeAsRead({ metadata, spec = {}, status = {} }: Node): Node {
  return {
    metadata,
    spec,
    status: mapLists(without(status, unreadOfNodeStatus), {
      conditions: (list) => list.map((each) => without(each, unreadOfCondition)),
    }),
  };
}

function names(list: string): ReadonlySet<string> {
  return new Set(list.split(" "));
}

/** A copy without the unread fields, although its type has them. */
function without<T extends object>(object: T, unread: ReadonlySet<string>): T {
  const read = Object.entries(object).filter(([name]) => !unread.has(name));
  return Object.fromEntries(read) as T;
}

/** Maps the lists that are present. */
function mapLists<T extends object>(
  object: T,
  changes: { readonly [K in keyof T]?: (list: NonNullable<T[K]>) => T[K] },
): T {
  const changed: T = { ...object };
  for (const name of Object.keys(changes) as (keyof T)[]) {
    const list = object[name];
    if (list !== undefined && list !== null) changed[name] = changes[name]!(list);
  }
  return changed;
}

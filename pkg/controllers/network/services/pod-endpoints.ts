/** Predicates and ports of the pods behind a Service. */
import type { Pod, Service, ServicePort } from "#kinds";
import { isTerminal } from "../../pods/pod-state.ts";

/** Whether the pod has an address and is not terminal. */
export function isEndpoint(pod: Pod, includeTerminating: boolean): boolean {
  const { podIP = "", podIPs = [] } = pod.status ?? {};
  if (isTerminal(pod) || (podIP === "" && podIPs.length === 0)) return false;
  return includeTerminating || pod.metadata.deletionTimestamp === undefined;
}

/** DNS hostname of the pod in the Service's domain; undefined = none. */
export function endpointHostname({ metadata, spec }: Pod, service: Service): string | undefined {
  const { name, namespace } = service.metadata;
  if (spec?.subdomain !== name || metadata.namespace !== namespace) return undefined;
  return spec.hostname === "" ? undefined : spec.hostname;
}

/** Container port to which the Service's port resolves; undefined = the pod has no port of that name. */
export function targetPortOf(
  { spec }: Pod,
  { port, targetPort = port, protocol = "TCP" }: ServicePort,
): number | undefined {
  if (typeof targetPort === "number") return targetPort;
  const { containers = [], initContainers = [] } = spec ?? {};
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === "Always");
  for (const container of [...containers, ...sidecars]) {
    const found = container.ports?.find(
      (each) => each.name === targetPort && (each.protocol ?? "TCP") === protocol,
    );
    if (found !== undefined) return found.containerPort;
  }
  return undefined;
}

/** Whether the Service has no cluster IP. */
export function isHeadless({ spec }: Service): boolean {
  const { clusterIP = "" } = spec ?? {};
  return clusterIP === "" || clusterIP === "None";
}

/** Selector of a Service; undefined = other clients manage its endpoints. */
export function serviceSelector({ spec }: Service): Readonly<Record<string, string>> | undefined {
  const { selector = {} } = spec ?? {};
  return Object.keys(selector).length === 0 ? undefined : selector;
}

/** Whether an equality-based selector matches labels. */
export function selects(
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>> = {},
): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}

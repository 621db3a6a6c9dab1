import { kind, kubernetes } from "#meta";
import { addressWarning, networkWarnings } from "../../networking/ip.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../../printing.ts";
import { entry } from "../../strategy.ts";
import { serviceProxyOptions } from "../pod/pod-options.ts";
import { formatLabels } from "../../label-selector.ts";
import { fillDefaults, prepareCreate, prepareUpdate } from "./service-preparation.ts";
import { isHeadless, type Service, serviceV1 } from "./service-types.ts";
import {
  validateLoadBalancerStatus,
  validateService,
  validateServiceUpdate,
} from "./service-validation.ts";

const oldHints = `service.${kubernetes.label}/topology-aware-hints`;

function warnings(service: Service): readonly string[] {
  const { metadata, spec } = service;
  const found: string[] = [];
  if (entry(metadata.annotations, oldHints) !== undefined) {
    const proper = `service.${kubernetes.label}/topology-mode`;
    found.push(`annotation ${oldHints} is deprecated, please use ${proper} instead`);
  }
  const look = (field: string, all: readonly string[], warn: (text: string) => readonly string[]) =>
    all.forEach((text, index) => {
      for (const warning of warn(text)) found.push(`spec.${field}[${index}]: ${warning}`);
    });
  const address = (text: string) => [addressWarning(text)].filter((each) => each !== undefined);
  if (isHeadless(service)) found.push(...ignored(service));
  else if (spec.clusterIP) look("clusterIPs", spec.clusterIPs ?? [], address);
  look("externalIPs", spec.externalIPs ?? [], address);
  const balancer = addressWarning(spec.loadBalancerIP ?? "");
  if (balancer !== undefined) found.push(`spec.loadBalancerIP: ${balancer}`);
  look("loadBalancerSourceRanges", spec.loadBalancerSourceRanges ?? [], networkWarnings);
  if (spec.type === "ExternalName" && spec.externalIPs?.length) {
    found.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  }
  if (spec.type !== "ExternalName" && spec.externalName) {
    found.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  }
  return found;
}

/** Warnings about addresses that a load balancer reports. */
function statusWarnings({ status }: Service): readonly string[] {
  return (status.loadBalancer.ingress ?? []).flatMap(({ ip = "" }, index) => {
    const warning = addressWarning(ip);
    return warning === undefined ? [] : [`status.loadBalancer.ingress[${index}]: ${warning}`];
  });
}

function ignored({ spec }: Service): readonly string[] {
  const found: string[] = [];
  if (spec.loadBalancerIP) found.push("spec.loadBalancerIP is ignored for headless services");
  if (spec.externalIPs?.length) found.push("spec.externalIPs is ignored for headless services");
  if (spec.sessionAffinity !== "None") {
    found.push("spec.SessionAffinity is ignored for headless services");
  }
  return found;
}

/** Table cell of the external addresses. */
function externalAddressesCell({ spec, status }: Service): string {
  const external = spec.externalIPs ?? [];
  switch (spec.type) {
    case "ClusterIP":
    case "NodePort":
      return external.length > 0 ? external.join(",") : "<none>";
    case "ExternalName":
      return spec.externalName ?? "";
    case "LoadBalancer": {
      const ingress = (status.loadBalancer.ingress ?? []).flatMap(({ ip, hostname }) => {
        const name = ip || hostname;
        return name ? [name] : [];
      });
      return [...[...new Set(ingress)].sort(), ...external].join(",") || "<pending>";
    }
    default:
      return "<unknown>";
  }
}

/** Table cell of the ports, `80/TCP,81:30084/UDP` for example. */
function ports({ spec }: Service): string {
  const all = (spec.ports ?? []).map(({ port, nodePort, protocol }) =>
    nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
  );
  return all.join(",") || "<none>";
}

export const service = kind(serviceV1, {
  group: "",
  kind: "Service",
  plural: "services",
  shortNames: ["svc"],
  categories: ["all"],
  scope: "Namespaced",
  versions: [{ version: "v1", struct: serviceV1, onByDefault: true, convert: "hub" }],
  storagePrefix: "services/specs",
  subresources: [
    {
      name: "proxy",
      verbs: ["create", "delete", "get", "patch", "update"],
      represents: { group: "", version: "v1", kind: "ServiceProxyOptions" },
      connects: "proxy",
      options: serviceProxyOptions,
    },
    { name: "status", verbs: ["get", "patch", "update"] },
  ],
  rules: {
    name: "dns-1035-label",
    relaxedName: { gate: "RelaxedServiceNameValidation", name: "dns-label" },
    createOnUpdate: true,
    deleteReturnsObject: true,
  },
  hooks: {
    default: fillDefaults,
    prepareCreate,
    prepareUpdate,
    validate: (object, problems, context) =>
      validateService(object, undefined, { problems, context }),
    validateUpdate: (object, old, problems, context) => {
      const by = { problems, context };
      if (context.subresource === "status") {
        validateLoadBalancerStatus(object, old.status.loadBalancer, by);
      } else validateServiceUpdate(object, old, by);
    },
    warnings: (object, _old, { subresource }) =>
      subresource === "status" ? statusWarnings(object) : warnings(object),
  },
  columns: [
    nameColumn,
    column("Type", "How the Service is exposed."),
    column("Cluster-IP", "Virtual IP address within the cluster."),
    column("External-IP", "Addresses outside the cluster."),
    column("Port(s)", "Ports with node ports and protocols."),
    ageColumn,
    column("Selector", "Labels of the pods that receive the traffic.", { priority: 1 }),
  ],
  row: (object, context) => [
    nameOf(object),
    object.spec.type ?? "",
    object.spec.clusterIPs?.[0] ?? "<none>",
    externalAddressesCell(object),
    ports(object),
    ageOf(object, context),
    formatLabels(object.spec.selector),
  ],
  selectableFields: {
    "spec.clusterIP": ({ spec }) => spec.clusterIP ?? "",
    "spec.type": ({ spec }) => spec.type ?? "",
  },
});

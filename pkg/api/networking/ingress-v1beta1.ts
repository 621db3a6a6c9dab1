/**
 * Ingress v1beta1: no longer served, but still decoded from storage. A backend names its Service in
 * two flat fields.
 */
import { required, type Infer, inline, list, pointer, value, string, structs } from "#schema";
import { intOrString, objectMeta } from "#meta";
import { typedLocalObjectReference } from "../core/shared/references.ts";
import { type Ingress, ingressStatus, ingressTLS, pathType } from "./ingress-structs.ts";

const v1beta1 = structs("api/networking/v1beta1");

const backend = v1beta1(
  "IngressBackend",
  "Backend of an Ingress: either a Service or a resource.",
  {
    serviceName: value(1, string, "Name of the Service in the namespace of the Ingress."),
    servicePort: value(2, intOrString, "Port of the Service, by name or number."),
    resource: pointer(
      3,
      typedLocalObjectReference,
      "Object in the namespace of the Ingress to send requests to. Mutually exclusive with " +
        "serviceName.",
    ),
  },
);

const httpPath = v1beta1(
  "HTTPIngressPath",
  "HTTP path and the backend to which matching requests are sent.",
  {
    path: value(1, string, "Path to match against that of the request. Must begin with `/`."),
    pathType,
    backend: required(2, backend, "Backend to send matching requests to."),
  },
);

const http = v1beta1("HTTPIngressRuleValue", "HTTP paths of a host and their backends.", {
  paths: required(1, list(httpPath), "Paths, each with its backend."),
});

const ruleValue = v1beta1("IngressRuleValue", "Routing of an Ingress rule, by protocol.", {
  http: pointer(1, http, "HTTP paths and their backends."),
});

const rule = v1beta1("IngressRule", "Paths of one host, and the backends to route them to.", {
  host: value(1, string, "Fully qualified domain name of the host. Empty matches all hosts."),
  ingressRuleValue: inline(2, ruleValue, "Routing of requests to the host."),
});

const spec = v1beta1("IngressSpec", "Desired state of an Ingress.", {
  ingressClassName: pointer(4, string, "Name of the IngressClass of the Ingress."),
  backend: pointer(1, backend, "Backend for requests that match no rule."),
  tls: value(2, list(ingressTLS), "TLS configuration of the hosts."),
  rules: value(
    3,
    list(rule),
    "Host rules. If there are none, or none matches, backend handles the request.",
  ),
});

export const ingressV1beta1 = v1beta1(
  "Ingress",
  "Ingress routes HTTP and HTTPS traffic from outside the cluster to Services, by host and path.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, spec, "Ingress class, rules, default backend and TLS configuration."),
    status: value(
      3,
      ingressStatus,
      "Status of the load balancer, reported by the Ingress controller. Read-only.",
    ),
  },
);

type Old = Infer<typeof ingressV1beta1>;
type OldBackend = NonNullable<Old["spec"]["backend"]>;
type Backend = NonNullable<Ingress["spec"]["defaultBackend"]>;

export function ingressFromV1beta1({ metadata, spec: old, status }: Old): Ingress {
  const { backend: fallback, rules, ...same } = old;
  return {
    metadata,
    spec: {
      ...same,
      ...(fallback === undefined ? {} : { defaultBackend: backendOf(fallback) }),
      ...(rules === undefined ? {} : { rules: rules.map(ruleOf) }),
    },
    status,
  };
}

type OldRule = NonNullable<Old["spec"]["rules"]>[number];

function ruleOf({ http: old, ...same }: OldRule): NonNullable<Ingress["spec"]["rules"]>[number] {
  if (old === undefined) return same;
  const paths = (old.paths ?? []).map((each) => ({
    ...each,
    pathType: each.pathType ?? "ImplementationSpecific",
    backend: backendOf(each.backend),
  }));
  return { ...same, http: { paths } };
}

function backendOf({
  serviceName: name = "",
  servicePort: port = 0,
  resource,
}: OldBackend): Backend {
  const isService = name !== "" || (port !== 0 && port !== "");
  const servicePort = typeof port === "string" ? { name: port } : { number: port };
  return {
    ...(isService ? { service: { name, port: port === 0 ? {} : servicePort } } : {}),
    ...(resource === undefined ? {} : { resource }),
  };
}

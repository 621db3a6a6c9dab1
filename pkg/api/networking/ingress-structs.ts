import {
  required,
  type Infer,
  inline,
  int32,
  list,
  named,
  nullablePointer,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { objectMeta } from "#meta";
import { typedLocalObjectReference } from "../core/shared/references.ts";

const v1 = structs("api/networking/v1");

const serviceBackendPort = v1(
  "ServiceBackendPort",
  "A port of a service, by name or number.",
  {
    name: value(1, string, "Name of the port."),
    number: value(2, int32, "Number of the port."),
  },
  { atomic: true },
);

const ingressServiceBackend = v1("IngressServiceBackend", "A service that takes requests.", {
  name: required(1, string, "Name of the service, in the same namespace."),
  port: value(2, serviceBackendPort, "Its port."),
});

const ingressBackend = v1("IngressBackend", "Where requests go; one of the two.", {
  service: pointer(4, ingressServiceBackend, "A service."),
  resource: pointer(3, typedLocalObjectReference, "Another object of the same namespace."),
});

export const ingressTLS = v1("IngressTLS", "Hosts served over TLS.", {
  hosts: value(1, list(string), "Hosts that the certificate is for.", { listType: "atomic" }),
  secretName: value(2, string, "Secret with the certificate and its key."),
});

/** How a rule's path is compared with a request's. */
export const pathType = nullablePointer(
  3,
  named("v1.PathType", "Exact", "Prefix", "ImplementationSpecific"),
  "How paths are compared: Exact, Prefix (by segments) or ImplementationSpecific.",
);

const httpIngressPath = v1("HTTPIngressPath", "A path and where its requests go.", {
  path: value(1, string, "The path; begins with a slash."),
  pathType,
  backend: required(2, ingressBackend, "Where the requests go."),
});

const httpIngressRuleValue = v1("HTTPIngressRuleValue", "Rules for HTTP.", {
  paths: required(1, list(httpIngressPath), "Paths and where their requests go.", {
    listType: "atomic",
  }),
});

const ingressRuleValue = v1("IngressRuleValue", "Rules for one protocol.", {
  http: pointer(1, httpIngressRuleValue, "Rules for HTTP."),
});

const ingressRule = v1("IngressRule", "Rules for one host.", {
  host: value(1, string, "The host, as in `a.example.com` or `*.example.com`; empty means all."),
  ingressRuleValue: inline(2, ingressRuleValue, "Rules for one protocol."),
});

const ingressSpec = v1("IngressSpec", "Which requests go where.", {
  ingressClassName: pointer(4, string, "Class of who serves it."),
  defaultBackend: pointer(1, ingressBackend, "Where requests go that no rule is for."),
  tls: value(2, list(ingressTLS), "Hosts served over TLS.", { listType: "atomic" }),
  rules: value(3, list(ingressRule), "Rules by host.", { listType: "atomic" }),
});

const ingressPortStatus = v1("IngressPortStatus", "What became of a port.", {
  port: required(1, int32, "Number of the port."),
  protocol: required(2, named("v1.Protocol", "TCP", "UDP", "SCTP"), "Its protocol."),
  error: pointer(3, string, "What went wrong, as one word in camel case; may have a domain."),
});

const ingressLoadBalancerIngress = v1("IngressLoadBalancerIngress", "A way in.", {
  ip: value(1, string, "Its address."),
  hostname: value(2, string, "Its name."),
  ports: value(4, list(ingressPortStatus), "What became of its ports.", { listType: "atomic" }),
});

const ingressLoadBalancerStatus = v1("IngressLoadBalancerStatus", "State of a load balancer.", {
  ingress: value(1, list(ingressLoadBalancerIngress), "The ways in.", { listType: "atomic" }),
});

export const ingressStatus = v1("IngressStatus", "State of an Ingress.", {
  loadBalancer: value(1, ingressLoadBalancerStatus, "State of its load balancer."),
});

export const ingressV1 = v1(
  "Ingress",
  "Leads requests from outside to services, by host and path.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, ingressSpec, "Which requests go where."),
    status: value(3, ingressStatus, "State of the Ingress."),
  },
);

export type Ingress = Infer<typeof ingressV1>;

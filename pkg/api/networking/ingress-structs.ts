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
  "Port of a Service, either its name or its number.",
  {
    name: value(1, string, "Name of the port on the Service. Mutually exclusive with number."),
    number: value(2, int32, "Number of the port on the Service. Mutually exclusive with name."),
  },
  { atomic: true },
);

const ingressServiceBackend = v1("IngressServiceBackend", "Service and port of a backend.", {
  name: required(1, string, "Name of the Service in the namespace of the Ingress."),
  port: value(2, serviceBackendPort, "Port of the Service. Required."),
});

const ingressBackend = v1(
  "IngressBackend",
  "Backend of an Ingress: exactly one of service and resource must be set.",
  {
    service: pointer(
      4,
      ingressServiceBackend,
      "Service to send requests to. Mutually exclusive with resource.",
    ),
    resource: pointer(
      3,
      typedLocalObjectReference,
      "Object in the namespace of the Ingress to send requests to, for example a storage " +
        "bucket. Mutually exclusive with service.",
    ),
  },
);

export const ingressTLS = v1("IngressTLS", "TLS configuration for a set of hosts.", {
  hosts: value(
    1,
    list(string),
    "Hosts included in the certificate. If absent, the controller's wildcard host applies.",
    { listType: "atomic" },
  ),
  secretName: value(
    2,
    string,
    "Name of the Secret in the namespace of the Ingress to terminate TLS with: certificate " +
      "`tls.crt` and key `tls.key`. Optional, since TLS can be routed by SNI host name alone.",
  ),
});

/** Field pathType: matching of request paths. */
export const pathType = nullablePointer(
  3,
  named("v1.PathType", "Exact", "Prefix", "ImplementationSpecific"),
  "Interpretation of path. One of Exact (the whole path, case-sensitive), Prefix (element-wise " +
    "prefix, elements being separated by `/`), ImplementationSpecific (up to the controller). " +
    "Required.",
);

const httpIngressPath = v1(
  "HTTPIngressPath",
  "HTTP path and the backend to which matching requests are sent.",
  {
    path: value(
      1,
      string,
      "Path to match against that of the request. Must begin with `/`, and is required for " +
        "pathType Exact and Prefix. If several paths match, the longest takes precedence.",
    ),
    pathType,
    backend: required(2, ingressBackend, "Backend to send matching requests to."),
  },
);

const httpIngressRuleValue = v1(
  "HTTPIngressRuleValue",
  "HTTP paths of a host and their backends.",
  {
    paths: required(
      1,
      list(httpIngressPath),
      "Paths, each with its backend. At least one is required.",
      {
        listType: "atomic",
      },
    ),
  },
);

const ingressRuleValue = v1("IngressRuleValue", "Routing of an Ingress rule, by protocol.", {
  http: pointer(
    1,
    httpIngressRuleValue,
    "HTTP paths and their backends. If absent, all requests to the host go to the default backend.",
    { openApi: { bareReference: true } },
  ),
});

const ingressRule = v1("IngressRule", "Paths of one host, and the backends to route them to.", {
  host: value(
    1,
    string,
    "Fully qualified domain name of the host, without a port, or a wildcard such as " +
      "`*.example.com`, where `*` stands for exactly one label. Empty matches all hosts.",
  ),
  ingressRuleValue: inline(2, ingressRuleValue, "Routing of requests to the host."),
});

const ingressSpec = v1("IngressSpec", "Desired state of an Ingress.", {
  ingressClassName: pointer(
    4,
    string,
    "Name of the IngressClass of the Ingress, and so of the controller that implements it. " +
      "Admission sets the default IngressClass, if there is one.",
  ),
  defaultBackend: pointer(
    1,
    ingressBackend,
    "Backend for requests that match no rule. Required if there are no rules.",
  ),
  tls: value(
    2,
    list(ingressTLS),
    "TLS configuration. Different hosts are multiplexed on port 443 by SNI, if the controller " +
      "supports it.",
    { listType: "atomic" },
  ),
  rules: value(
    3,
    list(ingressRule),
    "Host rules. If there are none, or none matches, defaultBackend handles the request.",
    { listType: "atomic" },
  ),
});

const ingressPortStatus = v1("IngressPortStatus", "Status of a port of a load balancer.", {
  port: required(1, int32, "Port number of the load balancer."),
  protocol: required(
    2,
    named("v1.Protocol", "TCP", "UDP", "SCTP"),
    "Transport protocol of the port: one of TCP, UDP, SCTP.",
  ),
  error: pointer(
    3,
    string,
    "Problem with the port, as a CamelCase reason, prefixed with a domain if specific to a " +
      "cloud provider. Absent if there is none.",
  ),
});

const ingressLoadBalancerIngress = v1(
  "IngressLoadBalancerIngress",
  "Ingress point of a load balancer.",
  {
    ip: value(1, string, "IP address of the ingress point, for IP-based load balancers."),
    hostname: value(2, string, "Host name of the ingress point, for DNS-based load balancers."),
    ports: value(4, list(ingressPortStatus), "Status of the ports of the load balancer.", {
      listType: "atomic",
    }),
  },
);

const ingressLoadBalancerStatus = v1(
  "IngressLoadBalancerStatus",
  "Status of the load balancer of an Ingress.",
  {
    ingress: value(1, list(ingressLoadBalancerIngress), "Ingress points of the load balancer.", {
      listType: "atomic",
    }),
  },
);

export const ingressStatus = v1("IngressStatus", "Observed state of an Ingress.", {
  loadBalancer: value(1, ingressLoadBalancerStatus, "Status of the load balancer of the Ingress."),
});

export const ingressV1 = v1(
  "Ingress",
  "Ingress routes HTTP and HTTPS traffic from outside the cluster to Services, by host and path.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, ingressSpec, "Ingress class, rules, default backend and TLS configuration."),
    status: value(
      3,
      ingressStatus,
      "Status of the load balancer, reported by the Ingress controller. Read-only.",
    ),
  },
);

export type Ingress = Infer<typeof ingressV1>;

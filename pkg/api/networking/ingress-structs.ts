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
  "Port of a Service, either by name or by number.",
  {
    name: value(1, string, "Name of the port on the Service. Mutually exclusive with number."),
    number: value(2, int32, "Number of the port on the Service. Mutually exclusive with name."),
  },
  { atomic: true },
);

const ingressServiceBackend = v1(
  "IngressServiceBackend",
  "Service and port that receive requests.",
  {
    name: required(1, string, "Name of the Service in the namespace of the Ingress."),
    port: value(2, serviceBackendPort, "Port of the Service to forward to."),
  },
);

const ingressBackend = v1(
  "IngressBackend",
  "Destination of requests: exactly one of service and resource.",
  {
    service: pointer(
      4,
      ingressServiceBackend,
      "Service that receives the requests. Mutually exclusive with resource.",
    ),
    resource: pointer(
      3,
      typedLocalObjectReference,
      "Object in the namespace of the Ingress that the controller routes to, for example a " +
        "storage bucket. Mutually exclusive with service.",
    ),
  },
);

export const ingressTLS = v1("IngressTLS", "TLS termination for a set of hosts.", {
  hosts: value(
    1,
    list(string),
    "Hosts that the certificate covers. When absent, the certificate applies to all hosts " +
      "of the Ingress, as the controller decides.",
    { listType: "atomic" },
  ),
  secretName: value(
    2,
    string,
    "Secret with certificate and key in `tls.crt` and `tls.key`, in the namespace of the " +
      "Ingress. Controllers may serve SNI by several entries on port 443.",
  ),
});

/** Field pathType: matching of request paths. */
export const pathType = nullablePointer(
  3,
  named("v1.PathType", "Exact", "Prefix", "ImplementationSpecific"),
  "How path matches the request. One of Exact (the whole path, case-sensitive), Prefix " +
    "(whole segments separated by `/`), ImplementationSpecific (as the controller " +
    "defines). Required.",
);

const httpIngressPath = v1("HTTPIngressPath", "Path of a rule, and the backend for it.", {
  path: value(
    1,
    string,
    "Path to match against the request, beginning with `/`. Required for pathType Exact " +
      "and Prefix. Several matches: the longest path wins.",
  ),
  pathType,
  backend: required(2, ingressBackend, "Backend that receives the matching requests."),
});

const httpIngressRuleValue = v1("HTTPIngressRuleValue", "HTTP routes of one host.", {
  paths: required(
    1,
    list(httpIngressPath),
    "Paths to match and the backends of each. At least one is required.",
    {
      listType: "atomic",
    },
  ),
});

const ingressRuleValue = v1("IngressRuleValue", "Routes of a rule, by protocol.", {
  http: pointer(
    1,
    httpIngressRuleValue,
    "Routes for HTTP and HTTPS requests. When absent, the default backend receives all " +
      "requests of the host.",
    { openApi: { bareReference: true } },
  ),
});

const ingressRule = v1("IngressRule", "Routes for requests to one host.", {
  host: value(
    1,
    string,
    "Host to match, without port: a DNS name, or a wildcard such as `*.example.com` that " +
      "covers exactly one label. Empty matches every host.",
  ),
  ingressRuleValue: inline(2, ingressRuleValue, "Routes for the requests that match host."),
});

const ingressSpec = v1("IngressSpec", "Desired routing of an Ingress.", {
  ingressClassName: pointer(
    4,
    string,
    "Name of the IngressClass whose controller serves this Ingress. Without it, admission " +
      "fills in the default class, if there is one.",
  ),
  defaultBackend: pointer(
    1,
    ingressBackend,
    "Backend for requests that match no rule. Required when rules is empty.",
  ),
  tls: value(
    2,
    list(ingressTLS),
    "TLS settings. Entries with different certificates share port 443 and are told apart by SNI.",
    { listType: "atomic" },
  ),
  rules: value(
    3,
    list(ingressRule),
    "Routes by host. When empty, all requests go to defaultBackend.",
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
  "State of the load balancer in front of an Ingress.",
  {
    ingress: value(
      1,
      list(ingressLoadBalancerIngress),
      "Addresses at which the Ingress can be reached.",
      { listType: "atomic" },
    ),
  },
);

export const ingressStatus = v1("IngressStatus", "Observed state of an Ingress.", {
  loadBalancer: value(1, ingressLoadBalancerStatus, "Load balancer that serves the Ingress."),
});

export const ingressV1 = v1(
  "Ingress",
  "Ingress routes HTTP and HTTPS requests from outside the cluster to Services, by host " +
    "and path.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, ingressSpec, "Rules, default backend and TLS settings."),
    status: value(3, ingressStatus, "Addresses reported by the Ingress controller. Read-only."),
  },
);

export type Ingress = Infer<typeof ingressV1>;

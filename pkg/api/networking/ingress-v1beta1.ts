/**
 * Ingresses as kube-apiserver stored them before v1: a backend names its service in two fields of
 * its own.
 */
import { required, type Infer, inline, list, pointer, value, string, structs } from "#schema";
import { intOrString, objectMeta } from "#meta";
import { typedLocalObjectReference } from "../core/shared/references.ts";
import { type Ingress, ingressStatus, ingressTLS, pathType } from "./ingress-structs.ts";

const v1beta1 = structs("api/networking/v1beta1");

const backend = v1beta1("IngressBackend", "Where requests go.", {
  serviceName: value(1, string, "Name of a service, in the same namespace."),
  servicePort: value(2, intOrString, "Its port, by name or number."),
  resource: pointer(3, typedLocalObjectReference, "Another object of the same namespace."),
});

const httpPath = v1beta1("HTTPIngressPath", "A path and where its requests go.", {
  path: value(1, string, "The path; begins with a slash."),
  pathType,
  backend: required(2, backend, "Where the requests go."),
});

const http = v1beta1("HTTPIngressRuleValue", "Rules for HTTP.", {
  paths: required(1, list(httpPath), "Paths and where their requests go."),
});

const ruleValue = v1beta1("IngressRuleValue", "Rules for one protocol.", {
  http: pointer(1, http, "Rules for HTTP."),
});

const rule = v1beta1("IngressRule", "Rules for one host.", {
  host: value(1, string, "The host; empty means all."),
  ingressRuleValue: inline(2, ruleValue, "Rules for one protocol."),
});

const spec = v1beta1("IngressSpec", "Which requests go where.", {
  ingressClassName: pointer(4, string, "Class of who serves it."),
  backend: pointer(1, backend, "Where requests go that no rule is for."),
  tls: value(2, list(ingressTLS), "Hosts served over TLS."),
  rules: value(3, list(rule), "Rules by host."),
});

export const ingressV1beta1 = v1beta1("Ingress", "Leads requests from outside to services.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
  spec: value(2, spec, "Which requests go where."),
  status: value(3, ingressStatus, "State of the Ingress."),
});

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

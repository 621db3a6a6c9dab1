import {
  always,
  type Infer,
  inline,
  int32,
  list,
  named,
  nullable,
  optional,
  Path,
  plain,
  type Problems,
  string,
  structs,
} from "#schema";
import { isDns1123Subdomain, kind, kubernetes, objectMeta } from "#meta";
import { typedLocalObjectReference } from "../core/references.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { dividedBySubresource, entry, invalidEach } from "../strategy.ts";
import { checkBackend, checkHost, checkPath } from "./ingress-rules.ts";
import { addressWarning, NOT_AN_ADDRESS, parseAddress } from "./ip.ts";

const v1 = structs("api/networking/v1");

const serviceBackendPort = v1(
  "ServiceBackendPort",
  "A port of a service, by name or number.",
  {
    name: plain(1, string, "Name of the port."),
    number: plain(2, int32, "Number of the port."),
  },
  { atomic: true },
);

const ingressServiceBackend = v1("IngressServiceBackend", "A service that takes requests.", {
  name: always(1, string, "Name of the service, in the same namespace."),
  port: plain(2, serviceBackendPort, "Its port."),
});

const ingressBackend = v1("IngressBackend", "Where requests go; one of the two.", {
  service: optional(4, ingressServiceBackend, "A service."),
  resource: optional(3, typedLocalObjectReference, "Another object of the same namespace."),
});

const ingressTLS = v1("IngressTLS", "Hosts served over TLS.", {
  hosts: plain(1, list(string), "Hosts that the certificate is for.", { listType: "atomic" }),
  secretName: plain(2, string, "Secret with the certificate and its key."),
});

const httpIngressPath = v1("HTTPIngressPath", "A path and where its requests go.", {
  path: plain(1, string, "The path; begins with a slash."),
  pathType: nullable(
    3,
    named("v1.PathType", "Exact", "Prefix", "ImplementationSpecific"),
    "How paths are compared: Exact, Prefix (by segments) or ImplementationSpecific.",
  ),
  backend: always(2, ingressBackend, "Where the requests go."),
});

const httpIngressRuleValue = v1("HTTPIngressRuleValue", "Rules for HTTP.", {
  paths: always(1, list(httpIngressPath), "Paths and where their requests go.", {
    listType: "atomic",
  }),
});

const ingressRuleValue = v1("IngressRuleValue", "Rules for one protocol.", {
  http: optional(1, httpIngressRuleValue, "Rules for HTTP."),
});

const ingressRule = v1("IngressRule", "Rules for one host.", {
  host: plain(1, string, "The host, as in `a.example.com` or `*.example.com`; empty means all."),
  ingressRuleValue: inline(2, ingressRuleValue, "Rules for one protocol."),
});

const ingressSpec = v1("IngressSpec", "Which requests go where.", {
  ingressClassName: optional(4, string, "Class of who serves it."),
  defaultBackend: optional(1, ingressBackend, "Where requests go that no rule is for."),
  tls: plain(2, list(ingressTLS), "Hosts served over TLS.", { listType: "atomic" }),
  rules: plain(3, list(ingressRule), "Rules by host.", { listType: "atomic" }),
});

const ingressPortStatus = v1("IngressPortStatus", "What became of a port.", {
  port: always(1, int32, "Number of the port."),
  protocol: always(2, named("v1.Protocol", "TCP", "UDP", "SCTP"), "Its protocol."),
  error: optional(3, string, "What went wrong, as one word in camel case; may have a domain."),
});

const ingressLoadBalancerIngress = v1("IngressLoadBalancerIngress", "A way in.", {
  ip: plain(1, string, "Its address."),
  hostname: plain(2, string, "Its name."),
  ports: plain(4, list(ingressPortStatus), "What became of its ports.", { listType: "atomic" }),
});

const ingressLoadBalancerStatus = v1("IngressLoadBalancerStatus", "State of a load balancer.", {
  ingress: plain(1, list(ingressLoadBalancerIngress), "The ways in.", { listType: "atomic" }),
});

const ingressStatus = v1("IngressStatus", "State of an Ingress.", {
  loadBalancer: plain(1, ingressLoadBalancerStatus, "State of its load balancer."),
});

const ingressV1 = v1("Ingress", "Leads requests from outside to services, by host and path.", {
  metadata: plain(1, objectMeta, "Standard object metadata."),
  spec: plain(2, ingressSpec, "Which requests go where."),
  status: plain(3, ingressStatus, "State of the Ingress."),
});

type Ingress = Infer<typeof ingressV1>;
type Rules = NonNullable<Ingress["spec"]["rules"]>;

const path = Path.of("spec");
const classAnnotation = `${kubernetes.label}/ingress.class`;

function checkRules(rules: Rules, problems: Problems): void {
  for (const [index, { host = "", http }] of rules.entries()) {
    const place = path.child("rules").index(index);
    if (host !== "") checkHost(host, place.child("host"), { addresses: false, problems });
    if (http === undefined) continue;
    const pathsPath = place.child("http", "paths");
    const paths = http.paths ?? [];
    if (paths.length === 0) problems.required(pathsPath);
    for (const [i, each] of paths.entries()) checkPath(each, pathsPath.index(i), problems);
  }
}

function checkTls({ tls = [] }: Ingress["spec"], problems: Problems): void {
  for (const [index, { hosts = [], secretName = "" }] of tls.entries()) {
    const place = path.child("tls").index(index);
    for (const [i, host] of hosts.entries()) {
      checkHost(host, place.child("hosts").index(i), { addresses: true, problems });
    }
    if (secretName === "") continue;
    const messages = isDns1123Subdomain(secretName);
    invalidEach(problems, place.child("secretName"), { value: secretName, messages });
  }
}

function validate({ spec }: Ingress, problems: Problems): void {
  const { rules = [], defaultBackend, ingressClassName } = spec;
  if (rules.length === 0 && defaultBackend === undefined) {
    const detail = "either `defaultBackend` or `rules` must be specified";
    problems.invalid(path, spec.rules ?? null, detail);
  }
  if (defaultBackend !== undefined) {
    checkBackend(defaultBackend, path.child("defaultBackend"), problems);
  }
  checkRules(rules, problems);
  checkTls(spec, problems);
  if (ingressClassName === undefined) return;
  const messages = isDns1123Subdomain(ingressClassName);
  invalidEach(problems, path.child("ingressClassName"), { value: ingressClassName, messages });
}

/** New objects name one class only. */
function checkClass({ metadata, spec }: Ingress, problems: Problems): void {
  const name = entry(metadata.annotations, classAnnotation);
  if (name === undefined || spec.ingressClassName === undefined) return;
  if (name === spec.ingressClassName) return;
  const place = Path.of("annotations").child(classAnnotation);
  problems.invalid(place, name, "must match `ingressClassName` when both are specified");
}

const waysIn = Path.of("status.loadBalancer.ingress");

function checkStatus({ status }: Ingress, old: Ingress, problems: Problems): void {
  const known = old.status.loadBalancer.ingress ?? [];
  for (const [index, each] of (status.loadBalancer.ingress ?? []).entries()) {
    const { ip = "", hostname = "" } = each;
    const place = waysIn.index(index);
    if (ip !== "" && parseAddress(ip) === undefined && !known.some((other) => other.ip === ip)) {
      problems.invalid(place.child("ip"), ip, NOT_AN_ADDRESS);
    }
    if (hostname === "") continue;
    const messages = isDns1123Subdomain(hostname);
    invalidEach(problems, place.child("hostname"), { value: hostname, messages });
    if (parseAddress(hostname) === undefined) continue;
    const detail = "must be a DNS name, not an IP address";
    problems.invalid(place.child("hostname"), hostname, detail);
  }
}

function statusWarnings({ status }: Ingress): readonly string[] {
  return (status.loadBalancer.ingress ?? []).flatMap(({ ip = "" }, index) => {
    const warning = addressWarning(ip);
    return warning === undefined ? [] : [`${waysIn.index(index)}: ${warning}`];
  });
}

function classWarnings({ metadata, spec }: Ingress): readonly string[] {
  if (entry(metadata.annotations, classAnnotation) === undefined) return [];
  if (spec.ingressClassName !== undefined) return [];
  const instead = "please use 'spec.ingressClassName' instead";
  return [`annotation ${JSON.stringify(classAnnotation)} is deprecated, ${instead}`];
}

const MOST_HOSTS = 3;

/** `a.example.com,b.example.com`; `*` for all hosts. */
function hostsOf({ rules = [] }: Ingress["spec"]): string {
  const named = rules.flatMap(({ host }) => (host ? [host] : []));
  if (named.length === 0) return "*";
  const shown = named.slice(0, MOST_HOSTS).join(",");
  const isCut = named.length > MOST_HOSTS || (named.length === MOST_HOSTS && endsUnnamed(rules));
  return isCut ? `${shown} + ${rules.length - MOST_HOSTS} more...` : shown;
}

/** Whether there are rules after the one whose host was the last to be shown. */
function endsUnnamed(rules: Rules): boolean {
  return !rules.at(-1)?.host;
}

function addressesOf({ status }: Ingress): string {
  const all = (status.loadBalancer.ingress ?? []).flatMap(({ ip, hostname }) => {
    const name = ip || hostname;
    return name ? [name] : [];
  });
  return [...new Set(all)].sort().join(",");
}

export const ingress = kind(ingressV1, {
  group: "networking.{api}",
  kind: "Ingress",
  plural: "ingresses",
  shortNames: ["ing"],
  scope: "Namespaced",
  versions: [{ version: "v1", struct: ingressV1, onByDefault: true, convert: "hub" }],
  storagePrefix: "ingress",
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  rules: { generation: true, metadataCheckedAgain: true },
  hooks: {
    ...dividedBySubresource(() => ({ loadBalancer: {} })),
    validate: (object, problems) => {
      validate(object, problems);
      checkClass(object, problems);
    },
    validateUpdate: (object, old, problems, { subresource }) => {
      if (subresource === "status") checkStatus(object, old, problems);
      else validate(object, problems);
    },
    warnings: (object, old, { subresource }) => {
      if (subresource === "status") return statusWarnings(object);
      return old === undefined ? classWarnings(object) : [];
    },
  },
  columns: [
    nameColumn,
    column("Class", "Class of who serves it."),
    column("Hosts", "Hosts that it has rules for."),
    column("Address", "Ways in."),
    column("Ports", "Ports of the ways in."),
    ageColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    object.spec.ingressClassName ?? "<none>",
    hostsOf(object.spec),
    addressesOf(object),
    object.spec.tls?.length ? "80, 443" : "80",
    ageOf(object, context),
  ],
});

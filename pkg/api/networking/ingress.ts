import { Path, type Problems } from "#schema";
import {
  type HookContext,
  isDns1035Label,
  isDns1123Label,
  isDns1123Subdomain,
  kind,
  kubernetes,
} from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { splitByStatusSubresource, entry, invalidEach } from "../strategy.ts";
import { type BackendChecks, checkBackend, checkHost, checkPath } from "./ingress-rules.ts";
import { type Ingress, ingressV1 } from "./ingress-structs.ts";
import { ingressFromV1beta1, ingressV1beta1 } from "./ingress-v1beta1.ts";
import { parseIp } from "#base";
import { addressWarning, notAnAddressMessage } from "./ip.ts";

type Rules = NonNullable<Ingress["spec"]["rules"]>;

const path = Path.of("spec");
const classAnnotation = `${kubernetes.label}/ingress.class`;

function checkRules(rules: Rules, checks: BackendChecks): void {
  const { problems } = checks;
  for (const [index, { host = "", http }] of rules.entries()) {
    const itemPath = path.child("rules").index(index);
    if (host !== "") checkHost(host, itemPath.child("host"), { addresses: false, problems });
    if (http === undefined) continue;
    const pathsPath = itemPath.child("http", "paths");
    const paths = http.paths ?? [];
    if (paths.length === 0) problems.required(pathsPath);
    for (const [i, each] of paths.entries()) checkPath(each, pathsPath.index(i), checks);
  }
}

function checkTls({ tls = [] }: Ingress["spec"], problems: Problems): void {
  for (const [index, { hosts = [], secretName = "" }] of tls.entries()) {
    const itemPath = path.child("tls").index(index);
    for (const [i, host] of hosts.entries()) {
      checkHost(host, itemPath.child("hosts").index(i), { addresses: true, problems });
    }
    if (secretName === "") continue;
    const messages = isDns1123Subdomain(secretName);
    invalidEach(problems, itemPath.child("secretName"), { value: secretName, messages });
  }
}

/** Relaxed names are also accepted while the gate is off, if the old Ingress has one. */
function relaxesNames(old: Ingress | undefined, { gate }: HookContext): boolean {
  if (gate("RelaxedServiceNameValidation")) return true;
  const paths = (old?.spec.rules ?? []).flatMap(({ http }) => http?.paths ?? []);
  return paths.some(({ backend: { service } }) => {
    if (service === undefined || isDns1123Label(service.name).length > 0) return false;
    return isDns1035Label(service.name).length > 0;
  });
}

function validate({ spec }: Ingress, checks: BackendChecks): void {
  const { problems } = checks;
  const { rules = [], defaultBackend, ingressClassName } = spec;
  if (rules.length === 0 && defaultBackend === undefined) {
    const detail = "either `defaultBackend` or `rules` must be specified";
    problems.invalid(path, spec.rules ?? null, detail);
  }
  if (defaultBackend !== undefined) {
    checkBackend(defaultBackend, path.child("defaultBackend"), checks);
  }
  checkRules(rules, checks);
  checkTls(spec, problems);
  if (ingressClassName === undefined) return;
  const messages = isDns1123Subdomain(ingressClassName);
  invalidEach(problems, path.child("ingressClassName"), { value: ingressClassName, messages });
}

/** Rejects new Ingresses with both the class annotation and ingressClassName. */
function checkClass({ metadata, spec }: Ingress, problems: Problems): void {
  const name = entry(metadata.annotations, classAnnotation);
  if (name === undefined || spec.ingressClassName === undefined) return;
  if (name === spec.ingressClassName) return;
  const fieldPath = Path.of("annotations").child(classAnnotation);
  problems.invalid(fieldPath, name, "must match `ingressClassName` when both are specified");
}

const waysIn = Path.of("status.loadBalancer.ingress");

function checkStatus({ status }: Ingress, old: Ingress, problems: Problems): void {
  const known = new Set((old.status.loadBalancer.ingress ?? []).map(({ ip }) => ip));
  for (const [index, each] of (status.loadBalancer.ingress ?? []).entries()) {
    const { ip = "", hostname = "" } = each;
    const itemPath = waysIn.index(index);
    if (ip !== "" && parseIp(ip) === undefined && !known.has(ip)) {
      problems.invalid(itemPath.child("ip"), ip, notAnAddressMessage);
    }
    if (hostname === "") continue;
    const messages = isDns1123Subdomain(hostname);
    invalidEach(problems, itemPath.child("hostname"), { value: hostname, messages });
    if (parseIp(hostname) === undefined) continue;
    const detail = "must be a DNS name, not an IP address";
    problems.invalid(itemPath.child("hostname"), hostname, detail);
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

const maxPrintedHosts = 3;

/** Table cell of the hosts, `a.example.com,b.example.com` for example; `*` = all. */
function hostsOf({ rules = [] }: Ingress["spec"]): string {
  const named = rules.flatMap(({ host }) => (host ? [host] : []));
  if (named.length === 0) return "*";
  const printed = named.slice(0, maxPrintedHosts).join(",");
  const isCut =
    named.length > maxPrintedHosts || (named.length === maxPrintedHosts && endsUnnamed(rules));
  return isCut ? `${printed} + ${rules.length - maxPrintedHosts} more...` : printed;
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
  readableVersions: [{ version: "v1beta1", struct: ingressV1beta1, up: ingressFromV1beta1 }],
  storagePrefix: "ingress",
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  rules: { metadataOnUpdate: { "": ["change", "object"] }, generation: true },
  hooks: {
    ...splitByStatusSubresource(() => ({ loadBalancer: {} })),
    validate: (object, problems, context) => {
      validate(object, { problems, relaxesNames: relaxesNames(undefined, context) });
      checkClass(object, problems);
    },
    validateUpdate: (object, old, problems, context) => {
      if (context.subresource === "status") checkStatus(object, old, problems);
      else validate(object, { problems, relaxesNames: relaxesNames(old, context) });
    },
    warnings: (object, old, { subresource }) => {
      if (subresource === "status") return statusWarnings(object);
      return old === undefined ? classWarnings(object) : [];
    },
  },
  columns: [
    nameColumn,
    column("Class", "IngressClass whose controller serves the Ingress."),
    column("Hosts", "Hosts that the rules match."),
    column("Address", "Ingress points of the load balancer."),
    column("Ports", "Ports under which the Ingress can be reached."),
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

/** Validation of Ingress hosts, paths and backends. */
import { type Path, type Problems } from "#schema";
import {
  isDns1035Label,
  isDns1123Label,
  isDns1123Subdomain,
  isPathSegmentName,
  isPortName,
  isPortNumber,
  isWildcardDns1123Subdomain,
} from "#meta";
import { invalidEach } from "../strategy.ts";
import { parseIp } from "#base";

interface Backend {
  readonly service?: {
    readonly name: string;
    readonly port: { readonly name?: string; readonly number?: number };
  };
  readonly resource?: {
    readonly apiGroup?: string | null;
    readonly kind: string;
    readonly name: string;
  };
}

interface HttpPath {
  readonly path?: string;
  readonly pathType?: string | null;
  readonly backend: Backend;
}

/** Validates a host name, with or without wildcard as first label. */
export function checkHost(
  host: string,
  path: Path,
  { addresses, problems }: { readonly addresses: boolean; readonly problems: Problems },
): void {
  if (!addresses && parseIp(host) !== undefined) {
    problems.invalid(path, host, "must be a DNS name, not an IP address");
  }
  const messages = host.includes("*") ? isWildcardDns1123Subdomain(host) : isDns1123Subdomain(host);
  invalidEach(problems, path, { value: host, messages });
}

const pathTypes = ["Exact", "ImplementationSpecific", "Prefix"];
const forbiddenParts = ["//", "/./", "/../", "%2f", "%2F"];
const forbiddenEnds = ["/..", "/."];

/** Validates a path; types Exact and Prefix require a normalized absolute path. */
export function checkPath(each: HttpPath, path: Path, checks: BackendChecks): void {
  const { problems } = checks;
  const { path: text = "", pathType, backend } = each;
  const fieldPath = path.child("path");
  if (pathType === null || pathType === undefined) {
    return problems.required(path.child("pathType"), "pathType must be specified");
  }
  if (!pathTypes.includes(pathType)) {
    problems.notSupported(path.child("pathType"), pathType, pathTypes);
  } else if (text !== "" || pathType !== "ImplementationSpecific") {
    if (!text.startsWith("/")) problems.invalid(fieldPath, text, "must be an absolute path");
    if (pathType !== "ImplementationSpecific") {
      for (const part of forbiddenParts) {
        if (text.includes(part)) problems.invalid(fieldPath, text, `must not contain '${part}'`);
      }
      for (const end of forbiddenEnds) {
        if (text.endsWith(end)) problems.invalid(fieldPath, text, `cannot end with '${end}'`);
      }
    }
  }
  checkBackend(backend, path.child("backend"), checks);
}

export interface BackendChecks {
  readonly problems: Problems;
  /** Whether names of Services may begin with a digit. */
  readonly relaxesNames: boolean;
}

export function checkBackend(
  { service, resource }: Backend,
  path: Path,
  checks: BackendChecks,
): void {
  const { problems } = checks;
  if (service !== undefined && resource !== undefined) {
    problems.invalid(path, "", "cannot set both resource and service backends");
  } else if (resource !== undefined) {
    checkResource(resource, path.child("resource"), problems);
  } else if (service !== undefined) checkService(service, path, checks);
  else problems.invalid(path, "", "resource or service backend is required");
}

function checkService(
  { name, port }: NonNullable<Backend["service"]>,
  path: Path,
  { problems, relaxesNames }: BackendChecks,
): void {
  const servicePath = path.child("service");
  if (name === "") problems.required(servicePath.child("name"));
  else
    invalidEach(problems, servicePath.child("name"), {
      value: name,
      messages: relaxesNames ? isDns1123Label(name) : isDns1035Label(name),
    });
  const { name: portName = "", number = 0 } = port;
  if (portName !== "" && number !== 0) {
    problems.invalid(path, "", "cannot set both port name & port number");
  } else if (portName !== "") {
    const messages = isPortName(portName);
    invalidEach(problems, servicePath.child("port", "name"), { value: portName, messages });
  } else if (number !== 0) {
    const messages = isPortNumber(number);
    invalidEach(problems, servicePath.child("port", "number"), { value: number, messages });
  } else problems.required(path, "port name or number is required");
}

function checkResource(
  resource: NonNullable<Backend["resource"]>,
  path: Path,
  problems: Problems,
): void {
  const { apiGroup } = resource;
  if (apiGroup !== null && apiGroup !== undefined) {
    const messages = isDns1123Subdomain(apiGroup);
    invalidEach(problems, path.child("apiGroup"), { value: apiGroup, messages });
  }
  for (const field of ["kind", "name"] as const) {
    const value = resource[field];
    if (value === "") problems.required(path.child(field));
    else invalidEach(problems, path.child(field), { value, messages: isPathSegmentName(value) });
  }
}

/** Operations of subresources that answer text, or connect the client with something else. */
import type { Subresource } from "#meta";
import {
  capitalized,
  collectionPath,
  type Method,
  nameParameter,
  type Operation,
  operation,
  type Parameter,
  pathItem,
  type PathItem,
  queryOf,
  scopeParameters,
  scopeWord,
  type Site,
  sortedByName,
} from "./operation.ts";
import { representedKind } from "./roots.ts";

const logMedia = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/** A subresource that answers text: the log of a pod. */
export function textPath(site: Site, { name, options }: Subresource): PathItem {
  const { kind, place } = site;
  const read = operation(site, "get", {
    method: "get",
    id: `read${place}${scopeWord(site)}${kind.kind}${capitalized(name)}`,
    description: `Read the ${name} of one ${kind.kind} as text.`,
    parameters: options === undefined ? [] : queryOf(options),
    codes: [200],
    response: "text",
    media: ["text/plain", ...logMedia],
  });
  const parameters = [nameParameter, ...scopeParameters(site)];
  return pathItem(`${collectionPath(site)}/{name}/${name}`, parameters, [read]);
}

const connectMethods: Readonly<Record<"stream" | "proxy", readonly Method[]>> = {
  stream: ["get", "post"],
  proxy: ["delete", "get", "head", "options", "patch", "post", "put"],
};

const pathParameter: Parameter = {
  name: "path",
  in: "path",
  description: "Path of the proxied request.",
  type: "string",
};

/** A stream has one path; a proxy has one more, for requests to a path of the backend. */
export function connectPaths(site: Site, subresource: Subresource): PathItem[] {
  const { connects = "stream", name, options } = subresource;
  const base = `${collectionPath(site)}/{name}/${name}`;
  const parameters = [
    nameParameter,
    ...scopeParameters(site),
    ...(options === undefined ? [] : queryOf(options)),
  ];
  const item = (path: string, more: readonly Parameter[], suffix: string): PathItem => ({
    path,
    parameters: sortedByName([...more, ...parameters]),
    operations: connectMethods[connects].map((method) =>
      connectOperation(site, subresource, { method, suffix }),
    ),
  });
  const whole = item(base, [], "");
  return connects === "stream"
    ? [whole]
    : [whole, item(`${base}/{path}`, [pathParameter], "WithPath")];
}

interface ConnectMethod {
  readonly method: Method;
  /** At the end of the operation id. */
  readonly suffix: string;
}

function connectOperation(
  site: Site,
  subresource: Subresource,
  { method, suffix }: ConnectMethod,
): Operation {
  const { kind } = representedKind(site.resource, subresource, site.domain);
  const name = `${scopeWord(site)}${site.kind.kind}${capitalized(subresource.name)}${suffix}`;
  const what =
    subresource.connects === "proxy"
      ? `Proxy a ${method.toUpperCase()} request to one ${site.kind.kind}.`
      : `Open the ${subresource.name} stream of one ${site.kind.kind}, by ${method.toUpperCase()}.`;
  return operation({ ...site, kind }, "connect", {
    method,
    id: `connect${site.place}${capitalized(method)}${name}`,
    description: what,
    parameters: [],
    codes: [200],
    response: "text",
    media: ["*/*"],
  });
}

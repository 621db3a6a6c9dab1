/** OpenAPI operations of subresources that return text or connect to a kubelet, pod or service. */
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
  type OperationContext,
  sortedByName,
} from "./operation.ts";
import { representedKind } from "./roots.ts";

const logMedia = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/** The path of a subresource that returns text: the log of a pod. */
export function textPath(context: OperationContext, { name, options }: Subresource): PathItem {
  const { kind, groupVersionId } = context;
  const read = operation(context, "get", {
    method: "get",
    id: `read${groupVersionId}${scopeWord(context)}${kind.kind}${capitalized(name)}`,
    description: `Read the ${name} of one ${kind.kind} as text.`,
    parameters: options === undefined ? [] : queryOf(options),
    codes: [200],
    response: "text",
    media: ["text/plain", ...logMedia],
  });
  const parameters = [nameParameter, ...scopeParameters(context)];
  return pathItem(`${collectionPath(context)}/{name}/${name}`, parameters, [read]);
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

/** The path of a stream, or the two paths of a proxy: with and without a path of the backend. */
export function connectPaths(context: OperationContext, subresource: Subresource): PathItem[] {
  const { connects = "stream", name, options } = subresource;
  const base = `${collectionPath(context)}/{name}/${name}`;
  const parameters = [
    nameParameter,
    ...scopeParameters(context),
    ...(options === undefined ? [] : queryOf(options)),
  ];
  const item = (path: string, pathParameters: readonly Parameter[], suffix: string): PathItem => ({
    path,
    parameters: sortedByName([...pathParameters, ...parameters]),
    operations: connectMethods[connects].map((method) =>
      connectOperation(context, subresource, { method, suffix }),
    ),
  });
  const root = item(base, [], "");
  return connects === "stream"
    ? [root]
    : [root, item(`${base}/{path}`, [pathParameter], "WithPath")];
}

interface ConnectMethod {
  readonly method: Method;
  /** Suffix of the operation id. */
  readonly suffix: string;
}

function connectOperation(
  context: OperationContext,
  subresource: Subresource,
  { method, suffix }: ConnectMethod,
): Operation {
  const { kind } = representedKind(context.resource, subresource, context.domain);
  const name = `${scopeWord(context)}${context.kind.kind}${capitalized(subresource.name)}${suffix}`;
  const description =
    subresource.connects === "proxy"
      ? `Proxy a ${method.toUpperCase()} request to one ${context.kind.kind}.`
      : `Open the ${subresource.name} stream of one ${context.kind.kind}, by ${method.toUpperCase()}.`;
  return operation({ ...context, kind }, "connect", {
    method,
    id: `connect${context.groupVersionId}${capitalized(method)}${name}`,
    description,
    parameters: [],
    codes: [200],
    response: "text",
    media: ["*/*"],
  });
}

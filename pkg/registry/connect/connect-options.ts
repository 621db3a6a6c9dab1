import { jsonFields, resolved } from "#schema";
import type { ResourceRequest } from "../contract.ts";
import type { ConnectRequest } from "./destination.ts";

/**
 * The query and path of a connect request as JSON of its options kind (such as PodExecOptions), which is
 * the object in admission: `{"stdin":true,"container":"a"}`.
 */
export function connectOptions(
  { resource, subresource }: ResourceRequest,
  { query, path }: ConnectRequest,
): Readonly<Record<string, unknown>> {
  const { options: struct } =
    resource.kind.subresources.find(({ name }) => name === subresource) ?? {};
  if (struct === undefined) return path === "" ? {} : { path };
  const options: Record<string, unknown> = {};
  for (const { name, type: declared } of jsonFields(struct)) {
    const type = resolved(declared);
    if (name === "path" && path !== "") options[name] = path;
    else if (!query.has(name)) continue;
    else if (type.tag === "bool") options[name] = query.flag(name);
    else if (type.tag !== "list") options[name] = query.get(name);
    else if (resolved(type.element).tag === "string") options[name] = query.all(name);
    else options[name] = query.all(name).map(Number).filter(Number.isSafeInteger);
  }
  return options;
}

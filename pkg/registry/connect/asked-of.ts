import { jsonFields, resolved } from "#schema";
import type { ResourceRequest } from "../contract.ts";
import type { ConnectRequest } from "./destination.ts";

/** What a client asks of a stream, as the JSON of its options: `{"stdin":true,"container":"a"}`. */
export function askedOf(
  { resource, subresource }: ResourceRequest,
  { query, rawPath }: ConnectRequest,
): Readonly<Record<string, unknown>> {
  const { options } = resource.kind.subresources.find(({ name }) => name === subresource) ?? {};
  if (options === undefined) return rawPath === "" ? {} : { path: rawPath };
  const asked: Record<string, unknown> = {};
  for (const { name, type: declared } of jsonFields(options)) {
    const type = resolved(declared);
    if (name === "path" && rawPath !== "") asked[name] = rawPath;
    else if (!query.has(name)) continue;
    else if (type.tag === "bool") asked[name] = query.flag(name);
    else if (type.tag !== "list") asked[name] = query.get(name);
    else if (resolved(type.element).tag === "string") asked[name] = query.all(name);
    else asked[name] = query.all(name).map(Number).filter(Number.isSafeInteger);
  }
  return asked;
}

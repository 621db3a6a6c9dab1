/**
 * Decodes the discovery documents of other servers. A field of another type is a fault of the document;
 * entries whose names or scopes are not those of an API are omitted.
 */
import { isJsonObject, type JsonObject, yieldEvery } from "#base";
import { groupVersionOf } from "#meta";
import { JsonSpan, JsonSpanError } from "../download/json-span.ts";
import type {
  DiscoveredVersions,
  ResourceDiscovery,
  SubresourceDiscovery,
} from "./version-discovery.ts";

/**
 * Decodes an APIGroupDiscoveryList, v2 or v2beta1.
 * @throws JsonSpanError if the document is another one, or has a field of another type
 */
export async function decodeAggregated(body: Buffer): Promise<DiscoveredVersions> {
  const found = new Map<string, readonly ResourceDiscovery[]>();
  const maybeYield = yieldEvery();
  const list = await JsonSpan.of(body).members();
  const kind = textOf(list.get("kind")?.parse());
  if (kind !== "APIGroupDiscoveryList") {
    throw new JsonSpanError(`expected an APIGroupDiscoveryList, not ${kind || "a document"}`);
  }
  for (const item of (await list.get("items")?.elements()) ?? []) {
    const group = await item.members();
    const name = textOf(objectOf(group.get("metadata")?.parse())["name"]);
    for (const each of (await group.get("versions")?.elements()) ?? []) {
      const version = await each.members();
      const resources = await parsedResources(version.get("resources"));
      const key = groupVersionOf(name, textOf(version.get("version")?.parse()));
      found.set(key, firstOfEachName(resources.flatMap(aggregatedResource)));
      await maybeYield();
    }
  }
  return found;
}

/**
 * Decodes the APIResourceList of the group version.
 * @throws JsonSpanError if the document has another kind or group version
 */
export async function decodeLegacy(
  body: Buffer,
  groupVersion: string,
): Promise<readonly ResourceDiscovery[]> {
  const list = await JsonSpan.of(body).members();
  const kind = textOf(list.get("kind")?.parse());
  const found = textOf(list.get("groupVersion")?.parse());
  if (kind !== "APIResourceList" || found !== groupVersion) {
    const what = `${kind || "a document"} of ${JSON.stringify(found)}`;
    throw new JsonSpanError(`expected the APIResourceList of ${groupVersion}, not ${what}`);
  }
  const all = (await parsedResources(list.get("resources"))).map(objectOf);
  const subresources = new Map<string, JsonObject[]>();
  for (const each of all) {
    const [parent = "", subresource] = textOf(each["name"]).split("/");
    if (subresource === undefined) continue;
    const below = subresources.get(parent) ?? [];
    below.push(each);
    subresources.set(parent, below);
  }
  const isTop = (each: JsonObject) => !textOf(each["name"]).includes("/");
  const parents = all.filter(isTop);
  const names = new Set(parents.map((each) => textOf(each["name"])));
  // A subresource without its parent implies the parent, which then has no verbs.
  const orphans = [...subresources].filter(([name]) => !names.has(name));
  const implied = orphans.map(([name, [first]]) => ({ name, namespaced: first?.["namespaced"] }));
  return firstOfEachName(
    [...parents, ...implied].flatMap((each) =>
      legacyResource(each, subresources.get(textOf(each["name"])) ?? []),
    ),
  );
}

/** Limits per group version, far above the size of any of Kubernetes' own. */
const maxResources = 5_000;
const maxVersionBytes = 2 * 1024 * 1024;

async function parsedResources(list: JsonSpan | undefined): Promise<unknown[]> {
  const maybeYield = yieldEvery();
  const parsed: unknown[] = [];
  if (list === undefined) return parsed;
  if (list.size > maxVersionBytes) {
    throw new JsonSpanError(`a group version is larger than ${maxVersionBytes} bytes`);
  }
  const elements = await list.elements();
  if (elements.length > maxResources) {
    throw new JsonSpanError(`a group version has more than ${maxResources} resources`);
  }
  for (const each of elements) {
    parsed.push(each.parse());
    await maybeYield();
  }
  return parsed;
}

function aggregatedResource(value: unknown): ResourceDiscovery[] {
  const from = objectOf(value);
  const below = listOf(from["subresources"]).flatMap(aggregatedSubresource);
  return resourceOf(textOf(from["resource"]), {
    responseKind: kindOf(from["responseKind"]),
    scope: textOf(from["scope"]),
    singularResource: textOf(from["singularResource"]),
    verbs: textsOf(from["verbs"]),
    ...namesOf(from),
    ...(below.length > 0 ? { subresources: below } : {}),
  });
}

function aggregatedSubresource(value: unknown): SubresourceDiscovery[] {
  const from = objectOf(value);
  const subresource = textOf(from["subresource"]);
  const acceptedTypes = listOf(from["acceptedTypes"]).map(kindOf);
  const entry = {
    subresource,
    responseKind: kindOf(from["responseKind"]),
    ...(acceptedTypes.length > 0 ? { acceptedTypes } : {}),
    verbs: textsOf(from["verbs"]),
  };
  return isPathSegment(subresource) ? [entry] : [];
}

function legacyResource(from: JsonObject, below: readonly JsonObject[]): ResourceDiscovery[] {
  const subresources = below.flatMap((each) => {
    const subresource = textOf(each["name"]).split("/").slice(1).join("/");
    const entry = { subresource, responseKind: kindOf(each), verbs: textsOf(each["verbs"]) };
    return isPathSegment(subresource) ? [entry] : [];
  });
  return resourceOf(textOf(from["name"]), {
    responseKind: kindOf(from),
    scope: isTrue(from["namespaced"]) ? "Namespaced" : "Cluster",
    singularResource: textOf(from["singularName"]),
    verbs: textsOf(from["verbs"]),
    ...namesOf(from),
    ...(subresources.length > 0 ? { subresources } : {}),
  });
}

function resourceOf(
  resource: string,
  rest: Omit<ResourceDiscovery, "resource">,
): ResourceDiscovery[] {
  const isScope = rest.scope === "Namespaced" || rest.scope === "Cluster";
  return isPathSegment(resource) && isScope ? [{ resource, ...rest }] : [];
}

function namesOf(from: JsonObject) {
  const [shortNames, categories] = [textsOf(from["shortNames"]), textsOf(from["categories"])];
  return {
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
  };
}

/** Drops resources whose name an earlier one has. */
function firstOfEachName(resources: readonly ResourceDiscovery[]): readonly ResourceDiscovery[] {
  const found = new Map<string, ResourceDiscovery>();
  for (const each of resources) if (!found.has(each.resource)) found.set(each.resource, each);
  return [...found.values()];
}

function kindOf(value: unknown) {
  const { group, version, kind } = objectOf(value);
  return { group: textOf(group), version: textOf(version), kind: textOf(kind) };
}

/** Whether the name is one path segment that needs no escaping. */
function isPathSegment(name: string): boolean {
  return /^[\w.-]{1,253}$/.test(name) && name !== "." && name !== "..";
}

function objectOf(value: unknown): JsonObject {
  const object = value ?? {};
  if (isJsonObject(object)) return object;
  throw wrongType("an object");
}

function listOf(value: unknown): readonly unknown[] {
  const list = value ?? [];
  if (Array.isArray(list)) return list;
  throw wrongType("an array");
}

function textOf(value: unknown): string {
  const text = value ?? "";
  if (typeof text === "string") return text;
  throw wrongType("a string");
}

function textsOf(value: unknown): readonly string[] {
  return listOf(value).map(textOf);
}

function isTrue(value: unknown): boolean {
  const flag = value ?? false;
  if (typeof flag === "boolean") return flag;
  throw wrongType("a boolean");
}

function wrongType(expected: string): JsonSpanError {
  return new JsonSpanError(`a field of the discovery document is not ${expected}`);
}

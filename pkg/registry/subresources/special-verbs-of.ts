import type { ResourceRequest } from "../contract.ts";
import { bind } from "./binding.ts";
import { getComponent, listComponents } from "./component-status.ts";
import { evict } from "./eviction.ts";
import { scaleVerbs } from "./scale.ts";
import type { SpecialVerbs } from "./special-verbs.ts";

/** By the key prefix of the resource and the name of the subresource. */
const byPath: Readonly<Record<string, SpecialVerbs>> = {
  "/bindings/": { create: bind },
  "/componentstatuses/": { get: getComponent, list: listComponents },
  "/pods/binding": { create: bind },
  "/pods/eviction": { create: evict },
};

/** The special verbs of a resource or subresource; undefined if it has only generic verbs. */
export function specialVerbs({ resource, subresource }: ResourceRequest): SpecialVerbs | undefined {
  const { scale } = resource.kind.subresources.find(({ name }) => name === subresource) ?? {};
  if (scale !== undefined) return scaleVerbs(scale);
  return byPath[`${resource.keyPrefix}${subresource}`];
}

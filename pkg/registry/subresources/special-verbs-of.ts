import type { ResourceRequest } from "../contract.ts";
import { bind } from "./binding.ts";
import { getComponent, listComponents } from "./component-status.ts";
import { evict } from "./eviction.ts";
import { scaleVerbs } from "./scale.ts";
import type { SpecialVerbs } from "./special-verbs.ts";

/** By key prefix of the kind and name of the subresource. */
const byName: Readonly<Record<string, SpecialVerbs>> = {
  "/bindings/": { create: bind },
  "/componentstatuses/": { get: getComponent, list: listComponents },
  "/pods/binding": { create: bind },
  "/pods/eviction": { create: evict },
};

/** The verbs of a subresource with handlers of its own; undefined for all others. */
export function specialVerbs({ resource, subresource }: ResourceRequest): SpecialVerbs | undefined {
  const { scale } = resource.kind.subresources.find(({ name }) => name === subresource) ?? {};
  if (scale !== undefined) return scaleVerbs(scale);
  return byName[`${resource.keyPrefix}${subresource}`];
}

/** subresources: those that are more than a part of their object. */
import type { ResourceRequest } from "../contract.ts";
import { bind } from "./binding.ts";
import { getComponent, listComponents } from "./component-status.ts";
import { evict } from "./eviction.ts";
import { scaleVerbs } from "./scale.ts";
import type { SpecialVerbs } from "./special-verbs.ts";

/** By the key prefix of the kind, with the name of the subresource. */
const byName: Readonly<Record<string, SpecialVerbs>> = {
  "/bindings/": { create: bind },
  "/componentstatuses/": { get: getComponent, list: listComponents },
  "/pods/binding": { create: bind },
  "/pods/eviction": { create: evict },
};

export { virtualCreate } from "./virtual-create.ts";
export { refuseWatch } from "./component-status.ts";

/** Undefined where the usual ones do. */
export function specialVerbs({ resource, subresource }: ResourceRequest): SpecialVerbs | undefined {
  const { scale } = resource.kind.subresources.find(({ name }) => name === subresource) ?? {};
  if (scale !== undefined) return scaleVerbs(scale);
  return byName[`${resource.keyPrefix}${subresource}`];
}

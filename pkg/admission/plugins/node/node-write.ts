import type { AdmissionAttributes } from "#registry";
import type { PluginDependencies } from "../../plugin.ts";

export type NodeRestrictionParts = Pick<
  PluginDependencies,
  "objects" | "domain" | "authorizer" | "gates"
>;

/** One write of a kubelet. */
export interface NodeWrite {
  readonly attributes: AdmissionAttributes;
  /** Name of the node that writes. */
  readonly node: string;
  readonly parts: NodeRestrictionParts;
}

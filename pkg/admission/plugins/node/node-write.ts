import type { AdmissionAttributes } from "#registry";
import type { PluginDependencies } from "../../plugin.ts";

export type NodeRestrictionParts = Pick<
  PluginDependencies,
  "objects" | "domain" | "authorizer" | "gates"
>;

/** A write request of a kubelet. */
export interface NodeWrite {
  readonly attributes: AdmissionAttributes;
  /** Name of the kubelet's node. */
  readonly node: string;
  readonly parts: NodeRestrictionParts;
}

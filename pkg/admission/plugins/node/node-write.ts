import type { Domain } from "#meta";
import type { AdmissionAttributes } from "#registry";
import type { Authorizer } from "#request";
import type { ObjectReader } from "../../objects.ts";

export interface NodeRestrictionParts {
  readonly objects: ObjectReader;
  readonly domain: Domain;
  /** Asked whether a node may have tokens for audiences that none of its pods names. */
  readonly authorizer: Authorizer;
  /** Whether a feature gate is on. */
  readonly gates: (name: string) => boolean;
}

/** One write of a node. */
export interface NodeWrite {
  readonly attributes: AdmissionAttributes;
  /** The node that writes. */
  readonly node: string;
  readonly parts: NodeRestrictionParts;
}

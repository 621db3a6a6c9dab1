import type { Kind } from "#meta";
import { deviceClass } from "./device-class.ts";
import { deviceTaintRule } from "./device-taint-rule.ts";
import { resourceClaim } from "./claim/resource-claim.ts";
import { resourceClaimTemplate } from "./claim/resource-claim-template.ts";
import { resourceSlice } from "./slice/resource-slice.ts";

export const resourceKinds: readonly Kind[] = [
  deviceClass,
  deviceTaintRule,
  resourceClaim,
  resourceClaimTemplate,
  resourceSlice,
];

import { dropGated, Path } from "#schema";
import { kind } from "#meta";
import { goShape } from "../../go/go-shape.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../../printing.ts";
import { splitByStatusKeepingMetadata } from "../../status-metadata.ts";
import { fieldImmutableMessage, same, isSameField } from "../../strategy.ts";
import { claimDown, claimUp } from "../beta1-versions.ts";
import { fillClaimDefaults } from "./claim-defaults.ts";
import { checkClaimSpec } from "./claim-rules.ts";
import { checkClaimStatus, dropDeallocated } from "./claim-status-rules.ts";
import { claimsV1, claimsV1beta1, claimsV1beta2, type ResourceClaim } from "./claim-structs.ts";

const struct = claimsV1beta2.resourceClaim;
const path = Path.of("spec");
const divided = splitByStatusKeepingMetadata(() => ({}));

function stateOf({ metadata, status }: ResourceClaim): string {
  const states: string[] = [];
  if (metadata.deletionTimestamp) states.push("deleted");
  if (status.allocation !== undefined) states.push("allocated");
  else if (states.length === 0) states.push("pending");
  if ((status.reservedFor ?? []).length > 0) states.push("reserved");
  return states.join(",");
}

export const resourceClaim = kind(struct, {
  group: "resource.{api}",
  kind: "ResourceClaim",
  plural: "resourceclaims",
  scope: "Namespaced",
  versions: [
    { version: "v1", struct: claimsV1.resourceClaim, onByDefault: true, convert: same },
    { version: "v1beta2", struct, onByDefault: false, convert: "hub" },
    {
      version: "v1beta1",
      struct: claimsV1beta1.resourceClaim,
      onByDefault: false,
      convert: { up: claimUp, down: claimDown },
    },
  ],
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  rules: {
    metadataOnUpdate: { "": ["object", "change"] },
    deleteReturnsObject: true,
  },
  hooks: {
    default: ({ spec }) => fillClaimDefaults(spec),
    prepareCreate: (object, context) => {
      divided.prepareCreate(object, context);
      dropGated(struct, object, { isOn: context.gate });
    },
    prepareUpdate: (object, old, context) => {
      divided.prepareUpdate(object, old, context);
      dropGated(struct, object, { old, isOn: context.gate });
      if (context.subresource === "status") dropDeallocated(object, old);
    },
    validate: ({ spec }, problems) => checkClaimSpec(spec, path, { problems, isStored: false }),
    validateUpdate: (object, old, problems, { subresource }) => {
      if (subresource === "status") return checkClaimStatus(object, old, problems);
      // Kubernetes validates the spec both before and after the check for changes.
      checkClaimSpec(object.spec, path, { problems, isStored: false });
      if (!isSameField(struct, "spec", [object, old])) {
        problems.invalid(
          path,
          goShape(struct.fields.spec.type, object.spec),
          fieldImmutableMessage,
        );
      }
      checkClaimSpec(object.spec, path, { problems, isStored: true });
    },
  },
  columns: [
    nameColumn,
    column(
      "State",
      "State of the claim: pending, allocated or reserved, and whether it is being deleted.",
    ),
    ageColumn,
  ],
  row: (object, context) => [nameOf(object), stateOf(object), ageOf(object, context)],
});

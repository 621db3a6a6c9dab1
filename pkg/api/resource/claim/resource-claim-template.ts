import { dropGated, Path, type Problems, toJsonValue } from "#schema";
import { checkAnnotations, checkLabels, kind, objectMeta } from "#meta";
import { goShape } from "../../go/go-shape.ts";
import { ageColumn, ageOf, nameColumn, nameOf } from "../../printing.ts";
import { fieldImmutableMessage, same, isSameField } from "../../strategy.ts";
import { templateDown, templateUp } from "../beta1-versions.ts";
import { fillClaimDefaults } from "./claim-defaults.ts";
import { checkClaimSpec } from "./claim-rules.ts";
import { claimsV1, claimsV1beta1, claimsV1beta2, type ClaimTemplate } from "./claim-structs.ts";

const struct = claimsV1beta2.resourceClaimTemplate;
const path = Path.of("spec");

/** Validates a template; its metadata may contain labels and annotations only. */
function validate(
  { spec: { metadata, spec } }: ClaimTemplate,
  problems: Problems,
  isStored = false,
): void {
  const metadataPath = path.child("metadata");
  const { labels = {}, annotations = {}, ...rest } = metadata;
  checkAnnotations(annotations, metadataPath.child("annotations"), problems);
  checkLabels(labels, metadataPath.child("labels"), problems);
  for (const [field, value] of Object.entries(rest)) {
    // As with Go's zero value, an empty list counts as set.
    if (value) problems.forbidden(metadataPath.child(field), "cannot be set");
  }
  checkClaimSpec(spec, path.child("spec"), { problems, isStored });
}

/** The template as Go prints it: the embedded metadata keeps its JSON names. */
function goTemplate({ metadata, spec }: ClaimTemplate["spec"]): unknown {
  return {
    ...toJsonValue(objectMeta, metadata),
    Spec: goShape(struct.fields.spec.type.fields.spec.type, spec),
  };
}

export const resourceClaimTemplate = kind(struct, {
  group: "resource.{api}",
  kind: "ResourceClaimTemplate",
  plural: "resourceclaimtemplates",
  scope: "Namespaced",
  versions: [
    { version: "v1", struct: claimsV1.resourceClaimTemplate, onByDefault: true, convert: same },
    { version: "v1beta2", struct, onByDefault: false, convert: "hub" },
    {
      version: "v1beta1",
      struct: claimsV1beta1.resourceClaimTemplate,
      onByDefault: false,
      convert: { up: templateUp, down: templateDown },
    },
  ],
  rules: { metadataOnUpdate: { "": ["object", "change"] }, deleteReturnsObject: true },
  hooks: {
    default: ({ spec }) => fillClaimDefaults(spec.spec),
    prepareCreate: (object, { gate }) => dropGated(struct, object, { isOn: gate }),
    prepareUpdate: (object, old, { gate }) => dropGated(struct, object, { old, isOn: gate }),
    validate: (object, problems) => validate(object, problems),
    validateUpdate: (object, old, problems) => {
      // Kubernetes validates the spec both before and after the check for changes.
      validate(object, problems);
      if (!isSameField(struct, "spec", [object, old])) {
        problems.invalid(path, goTemplate(object.spec), fieldImmutableMessage);
      }
      validate(object, problems, true);
    },
  },
  columns: [nameColumn, ageColumn],
  row: (object, context) => [nameOf(object), ageOf(object, context)],
});

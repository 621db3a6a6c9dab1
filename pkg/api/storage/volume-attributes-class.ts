import { required, type Infer, map, Path, value, type Problems, string, structs } from "#schema";
import { kind, objectMeta, resolve } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { same, isSameField } from "../strategy.ts";
import { checkDriverName, checkParameters } from "./class-rules.ts";

/** Struct of one version; all versions have the same fields. */
function volumeAttributesClassIn(version: "v1" | "v1beta1" | "v1alpha1") {
  return structs(`api/storage/${version}`)(
    "VolumeAttributesClass",
    "VolumeAttributesClass describes mutable volume attributes of a CSI driver, such as " +
      "performance. Claims can switch to another class after creation.",
    {
      metadata: value(1, objectMeta, "Standard object metadata."),
      driverName: required(
        2,
        string,
        "Name of the CSI driver that the class applies to. Immutable.",
      ),
      parameters: value(
        3,
        map(string),
        "Volume attributes, passed to the driver: at least one, at most 512, and 256 KiB in " +
          "total. Immutable.",
      ),
    },
  );
}

const volumeAttributesClassV1beta1 = volumeAttributesClassIn("v1beta1");

type VolumeAttributesClass = Infer<typeof volumeAttributesClassV1beta1>;

function validate(object: VolumeAttributesClass, problems: Problems): void {
  checkDriverName(object.driverName, Path.of("driverName"), problems);
  const path = Path.of("parameters");
  if (Object.keys(object.parameters ?? {}).length === 0) {
    return problems.required(path, "must contain at least one key/value pair");
  }
  checkParameters(object.parameters, path, problems);
}

export const volumeAttributesClass = kind(volumeAttributesClassV1beta1, {
  group: "storage.{api}",
  kind: "VolumeAttributesClass",
  plural: "volumeattributesclasses",
  shortNames: ["vac"],
  scope: "Cluster",
  versions: [
    { version: "v1", struct: volumeAttributesClassIn("v1"), onByDefault: true, convert: same },
    {
      version: "v1beta1",
      struct: volumeAttributesClassV1beta1,
      onByDefault: false,
      convert: "hub",
      deprecationWarning:
        "storage.{api}/v1beta1 VolumeAttributesClass is deprecated in v1.34+, " +
        "unavailable in v1.37+; use storage.{api}/v1 VolumeAttributesClass",
    },
    {
      version: "v1alpha1",
      struct: volumeAttributesClassIn("v1alpha1"),
      onByDefault: false,
      convert: same,
      deprecationWarning:
        "storage.{api}/v1alpha1 VolumeAttributesClass is deprecated in v1.32+, " +
        "unavailable in v1.35+; use storage.{api}/v1 VolumeAttributesClass",
    },
  ],
  rules: { metadataOnUpdate: { "": ["object", "change", "object"] }, deleteReturnsObject: true },
  hooks: {
    // Finalizer that a controller removes once no volume uses the class.
    prepareCreate: ({ metadata }, { domain }) => {
      const finalizer = resolve("{label}/vac-protection", domain);
      const finalizers = metadata.finalizers ?? [];
      if (!finalizers.includes(finalizer)) metadata.finalizers = [...finalizers, finalizer];
    },
    validate,
    validateUpdate: (object, old, problems) => {
      validate(object, problems);
      for (const field of ["driverName", "parameters"] as const) {
        if (isSameField(volumeAttributesClassV1beta1, field, [object, old])) continue;
        problems.forbidden(Path.of(field), `updates to ${field} are forbidden.`);
      }
      // Kubernetes validates a changed class twice and reports each error twice.
      validate(object, problems);
    },
  },
  columns: [nameColumn, column("DriverName", "CSI driver that the class applies to."), ageColumn],
  row: (object, context) => [nameOf(object), object.driverName, ageOf(object, context)],
});

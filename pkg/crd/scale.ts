import type { DefinitionVersion } from "#api";
import { internalError, invalid, type Subresource } from "#meta";
import { Path, Problems } from "#schema";
import { parseSimplePath, setValueAt, valueAt } from "#structural";

type Scale = NonNullable<NonNullable<DefinitionVersion["subresources"]>["scale"]>;

/** The scale endpoint of a custom resource: the definition says where the numbers are. */
export function scaleSubresource(scale: Scale): Subresource {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale;
  const wanted = parseSimplePath(specReplicasPath);
  const observed = parseSimplePath(statusReplicasPath);
  const selector = labelSelectorPath ? parseSimplePath(labelSelectorPath) : undefined;
  return {
    name: "scale",
    verbs: ["get", "patch", "update"],
    represents: { group: "autoscaling", version: "v1", kind: "Scale" },
    scale: {
      get: (object) => {
        const replicas = valueAt(object, wanted);
        if (replicas === undefined) {
          throw internalError(`the spec replicas field "${specReplicasPath}" does not exist`);
        }
        return {
          replicas: wholeNumber(replicas),
          observed: wholeNumber(valueAt(object, observed)),
          selector: selector === undefined ? "" : text(valueAt(object, selector)),
        };
      },
      set: (object, replicas) => {
        if (setValueAt(object, wanted, replicas)) return;
        const problems = new Problems();
        problems.invalid(Path.of(wanted.join(".")), replicas, "is not below an object");
        throw invalid({ group: "", kind: "" }, object.metadata.name ?? "", problems);
      },
      path: wanted.join("."),
    },
  };
}

function wholeNumber(value: unknown): number {
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : 0;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

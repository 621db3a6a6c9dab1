import { type DefinitionVersion, scaleV1 } from "#api";
import { goTypeOf, invalid, type Subresource } from "#meta";
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
    represents: { group: "autoscaling", version: "v1", kind: "Scale", struct: scaleV1 },
    scale: {
      get: (object) => ({
        replicas: wholeNumber(valueAt(object, wanted)),
        observed: wholeNumber(valueAt(object, observed)),
        selector: selector === undefined ? "" : text(valueAt(object, selector)),
      }),
      missing: (object) =>
        valueAt(object, wanted) === undefined
          ? `the spec replicas field "${specReplicasPath}" does not exist`
          : undefined,
      checksItself: true,
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

const largest = 2 ** 31 - 1;

/** What must hold of the fields that the scale endpoint shows, beside the schema. */
export function checkScaleFields(
  { specReplicasPath, statusReplicasPath, labelSelectorPath }: Scale,
  object: object,
  { onlyStatus, found: problems }: { readonly onlyStatus: boolean; readonly found: Problems },
): void {
  if (!onlyStatus) checkNumber(specReplicasPath, object, problems);
  checkNumber(statusReplicasPath, object, problems);
  if (!labelSelectorPath) return;
  const value = valueAt(object, parseSimplePath(labelSelectorPath));
  if (value === undefined || typeof value === "string") return;
  const detail = accessFault(labelSelectorPath, value, "string");
  problems.add({ type: "FieldValueInvalid", field: labelSelectorPath, value: "", detail });
}

function checkNumber(path: string, object: object, problems: Problems): void {
  const value = valueAt(object, parseSimplePath(path));
  if (value === undefined) return;
  const add = (shown: number, detail: string): void =>
    problems.add({ type: "FieldValueInvalid", field: path, value: shown, detail });
  if (typeof value !== "bigint" && !Number.isInteger(value)) {
    add(0, accessFault(path, value, "int64"));
    return;
  }
  const number = Number(value);
  if (number < 0) add(number, "should be a non-negative integer");
  else if (number > largest) add(number, `should be less than or equal to ${largest}`);
}

/** How Go tells that a value is of another type. */
function accessFault(path: string, value: unknown, expected: string): string {
  const shown = typeof value === "object" ? JSON.stringify(value) : String(value);
  return `${path} accessor error: ${shown} is of the type ${goTypeOf(value)}, expected ${expected}`;
}

function wholeNumber(value: unknown): number {
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : 0;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

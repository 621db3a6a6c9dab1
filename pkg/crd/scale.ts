import { printJson } from "#base";
import { type DefinitionVersion, scaleV1 } from "#api";
import { goTypeOf, invalid, type Subresource } from "#meta";
import { Path, Problems } from "#schema";
import { parseSimplePath, setValueAt, valueAt } from "#structural";

type Scale = NonNullable<NonNullable<DefinitionVersion["subresources"]>["scale"]>;

/** The scale subresource of a custom resource, with the definition's JSON paths. */
export function scaleSubresource(scale: Scale): Subresource {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale;
  const specReplicas = parseSimplePath(specReplicasPath);
  const observed = parseSimplePath(statusReplicasPath);
  const selector = labelSelectorPath ? parseSimplePath(labelSelectorPath) : undefined;
  return {
    name: "scale",
    verbs: ["get", "patch", "update"],
    represents: { group: "autoscaling", version: "v1", kind: "Scale", struct: scaleV1 },
    scale: {
      get: (object) => ({
        replicas: wholeNumber(valueAt(object, specReplicas)),
        observed: wholeNumber(valueAt(object, observed)),
        selector: selector === undefined ? "" : text(valueAt(object, selector)),
      }),
      missing: (object) =>
        valueAt(object, specReplicas) === undefined
          ? `the spec replicas field "${specReplicasPath}" does not exist`
          : undefined,
      checksItself: true,
      set: (object, replicas) => {
        if (setValueAt(object, specReplicas, replicas)) return;
        const problems = new Problems();
        problems.invalid(Path.of(specReplicas.join(".")), replicas, "is not below an object");
        throw invalid({ group: "", kind: "" }, object.metadata.name ?? "", problems);
      },
      path: specReplicas.join("."),
    },
  };
}

const largest = 2 ** 31 - 1;

/** Validates the replicas and the label selector of the scale subresource. */
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
  const add = (reported: number | bigint, detail: string): void =>
    problems.add({ type: "FieldValueInvalid", field: path, value: reported, detail });
  if (typeof value !== "bigint" && !Number.isInteger(value)) {
    add(0, accessFault(path, value, "int64"));
    return;
  }
  const number = value as number | bigint;
  if (number < 0) add(number, "should be a non-negative integer");
  else if (number > largest) add(number, `should be less than or equal to ${largest}`);
}

/** The error of apimachinery's `unstructured.Nested*` for a value of another type. */
function accessFault(path: string, value: unknown, expected: string): string {
  const text = typeof value === "object" ? printJson(value) : String(value);
  return `${path} accessor error: ${text} is of the type ${goTypeOf(value)}, expected ${expected}`;
}

function wholeNumber(value: unknown): number {
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : 0;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

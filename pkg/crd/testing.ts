export interface DefinitionOptions {
  /** Default `example.com`. */
  readonly group?: string;
  /** Default `Namespaced`. */
  readonly scope?: "Namespaced" | "Cluster";
  /** Default: an object with any fields. */
  readonly schema?: object;
  /** Further fields of the version `v1`, such as `subresources`. */
  readonly version?: object;
}

const anyFields = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** A CustomResourceDefinition with the version `v1`. */
export function customResourceDefinition(
  { plural, kind }: { readonly plural: string; readonly kind: string },
  {
    group = "example.com",
    scope = "Namespaced",
    schema: openAPIV3Schema = anyFields,
    version = {},
  }: DefinitionOptions = {},
) {
  const versions = [
    { name: "v1", served: true, storage: true, schema: { openAPIV3Schema }, ...version },
  ];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope, names: { plural, kind }, versions },
  };
}

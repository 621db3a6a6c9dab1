/**
 * API domains. Declarations write group names and label keys with a placeholder (`coordination.{api}`,
 * `{label}/metadata.name`), which `resolve` replaces. No other file contains a domain.
 */

/** Module prefix of the Go packages in Kubernetes' messages. */
export const goModules = "k8s.io";

export interface Domain {
  /** Suffix of API group names; flag `--api-domain`. */
  readonly api: string;
  /** Suffix in labels, annotations and type strings; flag `--label-domain`. */
  readonly label: string;
}

const kubernetesApi = goModules;
const kubernetesLabel = "kubernetes.io";

/** The label domain defaults to the API domain, except for `k8s.io`, whose is `kubernetes.io`. */
export function domainOf(api: string = kubernetesApi, label?: string): Domain {
  return { api, label: label ?? (api === kubernetesApi ? kubernetesLabel : api) };
}

export const kubernetes: Domain = domainOf();

/** `coordination.{api}` -> `coordination.k8s.io`; `{label}/tls` -> `kubernetes.io/tls`. */
export function resolve(template: string, domain: Domain): string {
  return template.replaceAll("{api}", domain.api).replaceAll("{label}", domain.label);
}

/**
 * `api/coordination/v1` -> `k8s.io.api.coordination.v1`: the Protobuf package of a struct's package
 * path.
 */
export function protoPackage(packagePath: string): string {
  return `${kubernetesApi}.${packagePath.replaceAll("/", ".").replaceAll("-", "_")}`;
}

/**
 * `api/core/v1`, `ConfigMap` -> `io.k8s.api.core.v1.ConfigMap`: the name of a struct in OpenAPI
 * documents,
 * which begins with the domain read backwards, as Java packages do. A path that begins with a
 * domain of its own is that of a custom resource: `example.com/v1`, `Car` -> `com.example.v1.Car`.
 */
export function openApiName(packagePath: string, name: string): string {
  const backwards = (text: string): string => text.split(".").reverse().join(".");
  const [first = "", ...rest] = packagePath.split("/");
  if (first.includes(".")) return [backwards(first), ...rest, name].join(".");
  const domain = backwards(kubernetesApi);
  return `${domain}.${packagePath.replaceAll("/", ".")}.${name}`;
}

/** `meta.k8s.io`: the group of options, tables and metadata-only objects. */
export function metaGroupOf({ api }: Domain): string {
  return `meta.${api}`;
}

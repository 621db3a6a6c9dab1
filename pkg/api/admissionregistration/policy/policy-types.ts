/** CEL types of the variables in policies and webhooks, as in Kubernetes. */
import { bool, type CelType, dyn, int, listOf, mapOf, objectOf, string, timestamp } from "#cel";

/** Object type with exactly these fields, whose names need no escaping. */
function declared(name: string, fields: Readonly<Record<string, CelType>>): CelType {
  const types = new Map(Object.entries(fields));
  return objectOf({
    name: `kubernetes.${name}`,
    field(key) {
      const type = types.get(key);
      return type === undefined ? undefined : { key, type };
    },
  });
}

const strings = listOf(string);
const texts = mapOf(string, string);
const kind = declared("GroupVersionKind", { group: string, version: string, kind: string });
const resource = declared("GroupVersionResource", {
  group: string,
  version: string,
  resource: string,
});

/** Type of `request`: AdmissionRequest without the objects, which are variables themselves. */
export const requestType = declared("AdmissionRequest", {
  kind,
  resource,
  subResource: string,
  requestKind: kind,
  requestResource: resource,
  requestSubResource: string,
  name: string,
  namespace: string,
  operation: string,
  userInfo: declared("UserInfo", {
    username: string,
    uid: string,
    groups: strings,
    extra: mapOf(string, strings),
  }),
  dryRun: bool,
  options: dyn,
});

/** Type of `namespaceObject`: Namespace with the metadata fields that Kubernetes exposes. */
export const namespaceType = declared("Namespace", {
  metadata: declared("NamespaceMetadata", {
    name: string,
    generateName: string,
    namespace: string,
    labels: texts,
    annotations: texts,
    // The key is upper case in Kubernetes, so that it is always absent.
    UID: string,
    creationTimestamp: timestamp,
    deletionGracePeriodSeconds: int,
    deletionTimestamp: timestamp,
    generation: int,
    resourceVersion: string,
    finalizers: strings,
  }),
  spec: declared("NamespaceSpec", { finalizers: strings }),
  status: declared("NamespaceStatus", {
    conditions: listOf(
      declared("NamespaceCondition", {
        status: string,
        type: string,
        lastTransitionTime: timestamp,
        message: string,
        reason: string,
      }),
    ),
    phase: string,
  }),
});

/**
 * `variables`: what those that were declared before give. Of their types only scalars, lists and
 * maps are known to expressions, objects and whatever else is dynamic.
 */
export function variablesType(results: ReadonlyMap<string, CelType>): CelType {
  return objectOf({
    name: "kubernetes.variables",
    field(key) {
      const type = results.get(key);
      return type === undefined ? undefined : { key, type: simplified(type) };
    },
  });
}

const kept: ReadonlySet<CelType["kind"]> = new Set([
  "bool",
  "bytes",
  "double",
  "duration",
  "int",
  "null_type",
  "string",
  "timestamp",
  "uint",
]);

function simplified(type: CelType): CelType {
  if (kept.has(type.kind)) return type;
  const [first = dyn, second = dyn] = type.parameters;
  if (type.kind === "list") return listOf(simplified(first));
  if (type.kind === "map") return mapOf(simplified(first), simplified(second));
  return dyn;
}

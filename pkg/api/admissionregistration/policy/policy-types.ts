/** CEL types of the variables in policies and webhooks, as in Kubernetes. */
import { bool, type CelType, dyn, int, listOf, mapOf, objectOf, string, timestamp } from "#cel";

/** Object type with exactly these fields, whose names need no escaping. */
function structTypeOf(name: string, fields: Readonly<Record<string, CelType>>): CelType {
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
const kind = structTypeOf("GroupVersionKind", { group: string, version: string, kind: string });
const resource = structTypeOf("GroupVersionResource", {
  group: string,
  version: string,
  resource: string,
});

/** Type of `request`: AdmissionRequest without the objects, which are variables themselves. */
export const requestType = structTypeOf("AdmissionRequest", {
  kind,
  resource,
  subResource: string,
  requestKind: kind,
  requestResource: resource,
  requestSubResource: string,
  name: string,
  namespace: string,
  operation: string,
  userInfo: structTypeOf("UserInfo", {
    username: string,
    uid: string,
    groups: strings,
    extra: mapOf(string, strings),
  }),
  dryRun: bool,
  options: dyn,
});

/** Type of `namespaceObject`: Namespace with the metadata fields that Kubernetes exposes. */
export const namespaceType = structTypeOf("Namespace", {
  metadata: structTypeOf("NamespaceMetadata", {
    name: string,
    generateName: string,
    namespace: string,
    labels: texts,
    annotations: texts,
    // Kubernetes spells the key in upper case, so that it is always absent.
    UID: string,
    creationTimestamp: timestamp,
    deletionGracePeriodSeconds: int,
    deletionTimestamp: timestamp,
    generation: int,
    resourceVersion: string,
    finalizers: strings,
  }),
  spec: structTypeOf("NamespaceSpec", { finalizers: strings }),
  status: structTypeOf("NamespaceStatus", {
    conditions: listOf(
      structTypeOf("NamespaceCondition", {
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
 * Type of `variables`: one field per preceding variable. Only scalar, list and map types are kept;
 * objects and other types become dyn, as in Kubernetes.
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

const exposedKinds: ReadonlySet<CelType["kind"]> = new Set([
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
  if (exposedKinds.has(type.kind)) return type;
  const [first = dyn, second = dyn] = type.parameters;
  if (type.kind === "list") return listOf(simplified(first));
  if (type.kind === "map") return mapOf(simplified(first), simplified(second));
  return dyn;
}

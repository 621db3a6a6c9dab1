/** Request bodies that just stay within the bounds, one per class of work. */
import {
  type BodyClass,
  json,
  yaml,
  protobuf,
  mergePatch,
  reviews,
  core,
  dry,
  many,
  numbered,
  field,
  empties,
  message,
  attributes,
  reviewOf,
  protobufReview,
  object,
  pod,
  named,
  kube,
  yamlMap,
} from "./build-body.ts";

/** About as many values as `requestBounds` allows. */
export const acceptedBodies: readonly BodyClass[] = [
  {
    name: "accepted: review, Protobuf: 6,000 empty requirements",
    path: reviews,
    type: protobuf,
    body: protobufReview(field(2, field(1, field(9, empties(2, 6000))))),
  },
  {
    name: "accepted: review, Protobuf: 3,500 empty owners",
    path: reviews,
    type: protobuf,
    body: protobufReview(field(1, empties(13, 3500))),
  },
  {
    name: "accepted: review, JSON: 6,000 annotations",
    path: reviews,
    type: json,
    body: reviewOf({ metadata: { annotations: numbered(6000) } }),
  },
  {
    name: "accepted: review, JSON: 60,000 numbers to be read precisely",
    path: reviews,
    type: json,
    body: Buffer.from(`{"unknown":[${"1.0,".repeat(60_000)}1]}`),
  },
  {
    name: "accepted: review, YAML: 24,000 times one key",
    path: reviews,
    type: yaml,
    body: Buffer.from(`{${"a: b, ".repeat(24_000)}a: b}`),
  },
  {
    name: "accepted: review, YAML: 49,000 lines without indentation",
    path: reviews,
    type: yaml,
    body: Buffer.from(`a: [\n${"b,\n".repeat(49_000)}]`),
  },
  {
    name: "accepted: review, YAML: a text of 250 kB in quotes",
    path: reviews,
    type: yaml,
    body: Buffer.from(`"${"\\x41 ".repeat(50_000)}"`),
  },
  {
    name: "accepted: subject access review, JSON: 8,000 groups",
    path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    type: json,
    body: object("authorization.k8s.io/v1", "SubjectAccessReview", {
      spec: { resourceAttributes: attributes, user: "u", groups: many(8000, (i) => `g${i}`) },
    }),
  },
  {
    name: "accepted: ConfigMap, JSON: 24,000 keys",
    path: `${core}/configmaps${dry}`,
    type: json,
    body: object("v1", "ConfigMap", { data: numbered(24_000) }),
  },
  {
    name: "accepted: ConfigMap, YAML: 24,000 keys",
    path: `${core}/configmaps${dry}`,
    type: yaml,
    body: yamlMap(24_000, "large"),
  },
  {
    name: "accepted: ConfigMap, JSON: 24,000 labels, wrong each",
    path: `${core}/configmaps${dry}`,
    type: json,
    body: object("v1", "ConfigMap", { metadata: { name: "large", labels: numbered(24_000, "-") } }),
  },
  {
    name: "accepted: ConfigMap, JSON: 24,000 annotations, wrong keys",
    path: `${core}/configmaps${dry}`,
    type: json,
    body: object("v1", "ConfigMap", {
      metadata: {
        name: "large",
        annotations: Object.fromEntries(many(24_000, (i) => [`/${i}`, ""])),
      },
    }),
  },
  {
    name: "accepted: ConfigMap, JSON: 33,000 finalizers",
    path: `${core}/configmaps${dry}`,
    type: json,
    body: object("v1", "ConfigMap", {
      metadata: { name: "large", finalizers: many(33_000, (i) => `a.b/f${i}`) },
    }),
  },
  {
    name: "accepted: ConfigMap, JSON: 12,000 owners",
    path: `${core}/configmaps${dry}`,
    type: json,
    body: object("v1", "ConfigMap", {
      metadata: {
        name: "large",
        ownerReferences: many(12_000, (i) => {
          return { apiVersion: "v1", kind: "Pod", name: "p", uid: `u${i}` };
        }),
      },
    }),
  },
  {
    name: "accepted: ConfigMap, JSON: managedFields of 24,000 keys",
    path: `${core}/configmaps${dry}`,
    type: json,
    body: object("v1", "ConfigMap", {
      metadata: {
        name: "large",
        managedFields: [
          {
            manager: "m",
            operation: "Update",
            apiVersion: "v1",
            time: "2020-01-01T00:00:00Z",
            fieldsType: "FieldsV1",
            fieldsV1: { "f:data": Object.fromEntries(many(24_000, (i) => [`f:k${i}`, {}])) },
          },
        ],
      },
    }),
  },
  {
    name: "accepted: Pod, JSON: 3,800 containers",
    path: `${core}/pods${dry}`,
    type: json,
    body: pod({ containers: many(3800, (i) => ({ name: `c${i}`, image: "i" })) }),
  },
  {
    name: "accepted: Pod, Protobuf: 3,800 empty containers",
    path: `${core}/pods${dry}`,
    type: protobuf,
    body: message("v1", "Pod", Buffer.concat([named, field(2, empties(2, 3800))])),
  },
  {
    name: "accepted: Pod, JSON: 3,000 volumes",
    path: `${core}/pods${dry}`,
    type: json,
    body: pod({ volumes: many(3000, (i) => ({ name: `v${i}`, emptyDir: {} })) }),
  },
  {
    name: "accepted: Pod, JSON: 24,000 variables",
    path: `${core}/pods${dry}`,
    type: json,
    body: pod({
      containers: [{ name: "c", image: "i", env: many(24_000, () => ({ name: "v" })) }],
    }),
  },
  {
    name: "accepted: Pod, JSON: 4,900 resources of a container",
    path: `${core}/pods${dry}`,
    type: json,
    body: pod({
      containers: [{ name: "c", image: "i", resources: { limits: numbered(4900, "1") } }],
    }),
  },
  {
    name: "accepted: Service, JSON: 13,000 ports",
    path: `${core}/services${dry}`,
    type: json,
    body: object("v1", "Service", {
      spec: { ports: many(13_000, (i) => ({ name: `p${i}`, port: i + 1 })) },
    }),
  },
  {
    name: "accepted: custom resource, JSON: 16,000 items with keys",
    path: `/apis/example.com/v1/namespaces/default/larges${dry}`,
    type: json,
    body: object("example.com/v1", "Large", {
      spec: { items: many(16_000, (i) => ({ name: `i${i}`, size: i })) },
    }),
  },
  {
    name: "accepted: custom resource, JSON: 48,000 open fields",
    path: `/apis/example.com/v1/namespaces/default/larges${dry}`,
    type: json,
    body: object("example.com/v1", "Large", { spec: { open: numbered(48_000, 1) } }),
  },
  {
    name: "accepted: Role, JSON: 6,200 rules",
    path: `/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles${dry}`,
    type: json,
    body: object("rbac.authorization.k8s.io/v1", "Role", {
      rules: many(6200, () => ({ apiGroups: [""], resources: ["pods"], verbs: ["get"] })),
    }),
  },
  {
    name: "accepted: PUT, JSON: 24,000 keys",
    path: `${kube}${dry}`,
    method: "PUT",
    type: json,
    body: object("v1", "ConfigMap", { metadata: { name: "there" }, data: numbered(24_000) }),
  },
  {
    name: "accepted: merge patch: 24,000 keys",
    path: `${kube}${dry}`,
    method: "PATCH",
    type: mergePatch,
    body: Buffer.from(JSON.stringify({ data: numbered(24_000) })),
  },
  {
    name: "accepted: strategic merge patch: 12,000 owners",
    path: `${kube}${dry}`,
    method: "PATCH",
    type: "application/strategic-merge-patch+json",
    body: Buffer.from(
      JSON.stringify({ metadata: { ownerReferences: many(12_000, (i) => ({ uid: `u${i}` })) } }),
    ),
  },
  {
    name: "accepted: apply, YAML: 24,000 keys",
    path: `${kube}?dryRun=All&fieldManager=m`,
    method: "PATCH",
    type: "application/apply-patch+yaml",
    body: yamlMap(24_000, "there"),
  },
  {
    name: "accepted: delete options, JSON: 49,000 empty objects",
    path: kube,
    method: "DELETE",
    type: json,
    body: Buffer.from(JSON.stringify({ dryRun: ["All"], x: many(49_000, () => ({})) })),
  },
];

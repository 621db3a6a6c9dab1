/** Request bodies that are expensive for their size, one per class of work. */
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
  definitionOf,
} from "./build-body.ts";

const inReviews: readonly BodyClass[] = [
  {
    name: "review, Protobuf: 1.4 M empty requirements",
    path: reviews,
    type: protobuf,
    body: protobufReview(field(2, field(1, field(9, empties(2, 1_400_000))))),
  },
  {
    name: "review, Protobuf: 1.4 M empty owners",
    path: reviews,
    type: protobuf,
    body: protobufReview(field(1, empties(13, 1_400_000))),
  },
  {
    name: "review, Protobuf: 1.4 M empty labels",
    path: reviews,
    type: protobuf,
    body: protobufReview(field(1, empties(11, 1_400_000))),
  },
  {
    name: "review, Protobuf: 1.4 M unknown fields",
    path: reviews,
    type: protobuf,
    body: protobufReview(empties(15, 1_400_000)),
  },
  {
    name: "review, YAML: 500,000 times one key",
    path: reviews,
    type: yaml,
    body: Buffer.from(`{${"a: b, ".repeat(500_000)}a: b}`),
  },
  {
    name: "review, YAML: 100,000 anchors",
    path: reviews,
    type: yaml,
    body: Buffer.from(many(100_000, (i) => `- &a${i} xxxxxx`).join("\n")),
  },
  {
    name: "review, YAML: 100,000 lines without indentation",
    path: reviews,
    type: yaml,
    body: Buffer.from(`a: [\n${"b,\n".repeat(100_000)}]`),
  },
  {
    name: "review, YAML: one text of 2.9 MB in quotes",
    path: reviews,
    type: yaml,
    body: Buffer.from(`"${"\\x41 ".repeat(580_000)}"`),
  },
  {
    name: "review, JSON: 200,000 annotations",
    path: reviews,
    type: json,
    body: reviewOf({ metadata: { annotations: numbered(200_000) } }),
  },
  {
    name: "review, JSON: 1 M empty objects in an unknown field",
    path: reviews,
    type: json,
    body: reviewOf({ unknown: many(1_000_000, () => ({})) }),
  },
  {
    name: "review, JSON: 300,000 unknown fields",
    path: reviews,
    type: json,
    body: reviewOf(numbered(300_000, 0)),
  },
  {
    name: "review, JSON: 500,000 times one key",
    path: reviews,
    type: json,
    body: Buffer.from(`{${'"a":1,'.repeat(450_000)}"a":1}`),
  },
  {
    name: "review, JSON: 700,000 numbers to be read precisely",
    path: reviews,
    type: json,
    body: Buffer.from(`{"unknown":[${"1.0,".repeat(700_000)}1]}`),
  },
  {
    name: "review, JSON: one text of 3 MB in escapes",
    path: reviews,
    type: json,
    body: Buffer.from(`{"kind":"${"\\ud800".repeat(500_000)}"}`),
  },
  {
    name: "review, JSON: 1.5 M open brackets",
    path: reviews,
    type: json,
    body: Buffer.from("[".repeat(1_500_000)),
  },
  {
    name: "token review, JSON: a token of 3 MB",
    path: "/apis/authentication.k8s.io/v1/tokenreviews",
    type: json,
    body: object("authentication.k8s.io/v1", "TokenReview", {
      spec: { token: `${"a.".repeat(1_500_000)}` },
    }),
  },
  {
    name: "subject access review, JSON: 200,000 groups",
    path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    type: json,
    body: object("authorization.k8s.io/v1", "SubjectAccessReview", {
      spec: { resourceAttributes: attributes, user: "u", groups: many(200_000, (i) => `g${i}`) },
    }),
  },
];

const stored: readonly BodyClass[] = [
  {
    name: "ConfigMap, JSON: 150,000 keys",
    path: `${core}/configmaps${dry}`,
    type: json,
    body: object("v1", "ConfigMap", { data: numbered(150_000) }),
  },
  {
    name: "ConfigMap, YAML: 100,000 keys",
    path: `${core}/configmaps${dry}`,
    type: yaml,
    body: Buffer.from(
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: large}\ndata:\n" +
        many(100_000, (i) => `  k${i}: ""\n`).join(""),
    ),
  },
  {
    name: "ConfigMap, JSON: a text of 1 MB",
    path: `${core}/configmaps${dry}`,
    type: json,
    body: object("v1", "ConfigMap", { data: { k: "line of text\n".repeat(80_000) } }),
  },
  {
    name: "ConfigMap, JSON: 100,000 labels, wrong each",
    path: `${core}/configmaps${dry}`,
    type: json,
    body: object("v1", "ConfigMap", {
      metadata: { name: "large", labels: numbered(100_000, "-") },
    }),
  },
  {
    name: "ConfigMap, JSON: 100,000 finalizers",
    path: `${core}/configmaps${dry}`,
    type: json,
    body: object("v1", "ConfigMap", {
      metadata: { name: "large", finalizers: many(100_000, (i) => `a.b/f${i}`) },
    }),
  },
  {
    name: "ConfigMap, JSON: 1.35 MB of managedFields",
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
            fieldsV1: {
              "f:data": Object.fromEntries(many(85_000, (i) => [`f:k${i}`, {}])),
            },
          },
        ],
      },
    }),
  },
  {
    name: "Pod, JSON: 20,000 containers",
    path: `${core}/pods${dry}`,
    type: json,
    body: pod({ containers: many(20_000, (i) => ({ name: `c${i}`, image: "i" })) }),
  },
  {
    name: "Pod, JSON: 1,000 containers",
    path: `${core}/pods${dry}`,
    type: json,
    body: pod({ containers: many(1000, (i) => ({ name: `c${i}`, image: "i" })) }),
  },
  {
    name: "Pod, JSON: 100,000 resources of a container",
    path: `${core}/pods${dry}`,
    type: json,
    body: pod({
      containers: [{ name: "c", image: "i", resources: { limits: numbered(100_000, "1") } }],
    }),
  },
  {
    name: "Pod, JSON: 200,000 variables",
    path: `${core}/pods${dry}`,
    type: json,
    body: pod({
      containers: [{ name: "c", image: "i", env: many(200_000, () => ({ name: "v" })) }],
    }),
  },
  {
    name: "Pod, Protobuf: 1.4 M empty containers",
    path: `${core}/pods${dry}`,
    type: protobuf,
    body: message("v1", "Pod", Buffer.concat([named, field(2, empties(2, 1_400_000))])),
  },
  {
    name: "Service, JSON: 40,000 ports",
    path: `${core}/services${dry}`,
    type: json,
    body: object("v1", "Service", {
      spec: { ports: many(40_000, (i) => ({ name: `p${i}`, port: i + 1 })) },
    }),
  },
  {
    name: "EndpointSlice, JSON: 1,000 endpoints",
    path: `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices${dry}`,
    type: json,
    body: object("discovery.k8s.io/v1", "EndpointSlice", {
      addressType: "IPv4",
      ports: [{ name: "p", port: 80 }],
      endpoints: many(1000, (i) => ({
        addresses: [`10.0.${i >> 8}.${i & 255}`],
        conditions: { ready: true, serving: true, terminating: false },
        nodeName: `node-${i}`,
        zone: "z",
        targetRef: { kind: "Pod", namespace: "default", name: `pod-${i}`, uid: `u${i}` },
      })),
    }),
  },
  {
    name: "custom resource, JSON: 60,000 items with keys",
    path: `/apis/example.com/v1/namespaces/default/larges${dry}`,
    type: json,
    body: object("example.com/v1", "Large", {
      spec: { items: many(60_000, (i) => ({ name: `i${i}`, size: i })) },
    }),
  },
  {
    name: "custom resource, JSON: 300,000 open fields",
    path: `/apis/example.com/v1/namespaces/default/larges${dry}`,
    type: json,
    body: object("example.com/v1", "Large", { spec: { open: numbered(200_000, 1) } }),
  },
  {
    name: "definition, JSON: a schema of 20,000 properties",
    path: `/apis/apiextensions.k8s.io/v1/customresourcedefinitions${dry}`,
    type: json,
    body: definitionOf(20_000),
  },
  {
    name: "Role, JSON: 100,000 rules",
    path: `/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles${dry}`,
    type: json,
    body: object("rbac.authorization.k8s.io/v1", "Role", { rules: many(100_000, () => ({})) }),
  },
];

const changes: readonly BodyClass[] = [
  {
    name: "PUT, JSON: 150,000 keys",
    path: `${kube}${dry}`,
    method: "PUT",
    type: json,
    body: object("v1", "ConfigMap", { metadata: { name: "there" }, data: numbered(150_000) }),
  },
  {
    name: "merge patch: 150,000 keys",
    path: `${kube}${dry}`,
    method: "PATCH",
    type: mergePatch,
    body: Buffer.from(JSON.stringify({ data: numbered(150_000, "") })),
  },
  {
    name: "strategic merge patch: 80,000 owners",
    path: `${kube}${dry}`,
    method: "PATCH",
    type: "application/strategic-merge-patch+json",
    body: Buffer.from(
      JSON.stringify({ metadata: { ownerReferences: many(80_000, (i) => ({ uid: `u${i}` })) } }),
    ),
  },
  {
    name: "JSON patch: 10,000 operations",
    path: `${kube}${dry}`,
    method: "PATCH",
    type: "application/json-patch+json",
    body: Buffer.from(
      JSON.stringify(many(10_000, (i) => ({ op: "add", path: `/data/k${i}`, value: "" }))),
    ),
  },
  {
    name: "JSON patch: a value of 150,000 keys",
    path: `${kube}${dry}`,
    method: "PATCH",
    type: "application/json-patch+json",
    body: Buffer.from(JSON.stringify([{ op: "add", path: "/data", value: numbered(150_000) }])),
  },
  {
    name: "apply, YAML: 100,000 keys",
    path: `${kube}?dryRun=All&fieldManager=m`,
    method: "PATCH",
    type: "application/apply-patch+yaml",
    body: Buffer.from(
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: there}\ndata:\n" +
        many(100_000, (i) => `  k${i}: ""\n`).join(""),
    ),
  },
  {
    name: "delete options, JSON: 1 M empty objects",
    path: kube,
    method: "DELETE",
    type: json,
    body: Buffer.from(JSON.stringify({ dryRun: ["All"], x: many(900_000, () => ({})) })),
  },
  {
    name: "delete options, YAML: 500,000 times one key",
    path: `${kube}${dry}`,
    method: "DELETE",
    type: yaml,
    body: Buffer.from(`{${"a: b, ".repeat(500_000)}a: b}`),
  },
  {
    name: "eviction, JSON: 200,000 annotations",
    path: `${core}/pods/none/eviction`,
    type: json,
    body: object("policy/v1", "Eviction", { metadata: { annotations: numbered(200_000) } }),
  },
];

export const hostileBodies: readonly BodyClass[] = [...inReviews, ...stored, ...changes];

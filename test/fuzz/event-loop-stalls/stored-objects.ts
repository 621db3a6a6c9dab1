/**
 * Requests that are small themselves, about a stored ConfigMap of 24,000 keys, and about custom resources
 * of 47,000 open fields and of 16,000 items.
 */
import {
  type BodyClass,
  core,
  dry,
  json,
  many,
  mergePatch,
  numbered,
  protobuf,
  wideVersion,
  yaml,
} from "./build-body.ts";

const wide = `${core}/configmaps/wide`;
const none = Buffer.alloc(0);
const label = Buffer.from(JSON.stringify({ metadata: { labels: { a: "b" } } }));

const reads: readonly BodyClass[] = [
  ["JSON", json, ""],
  ["indented JSON", json, "?pretty=true"],
  ["YAML", yaml, ""],
  ["Protobuf", protobuf, ""],
  ["a table", `${json};as=Table;g=meta.k8s.io;v=v1`, ""],
].map(([what, accept = json, query = ""]) => ({
  name: `stored: read as ${what}`,
  path: wide + query,
  method: "GET",
  type: json,
  body: none,
  accept,
}));

const customResources: readonly BodyClass[] = ["wide", "long"].flatMap((name) => {
  const path = `/apis/example.com/v1/namespaces/default/larges/${name}`;
  const metadata = `metadata: {name: ${name}, labels: {a: b}}`;
  const applied = `apiVersion: example.com/v1\nkind: Large\n${metadata}\n`;
  return [
    { name: `stored: custom resource, ${name}: read`, path, method: "GET", type: json, body: none },
    {
      name: `stored: custom resource, ${name}: merge patch of a label`,
      path: path + dry,
      method: "PATCH",
      type: mergePatch,
      body: label,
    },
    {
      name: `stored: custom resource, ${name}: apply of a label`,
      path: `${path}?dryRun=All&fieldManager=m`,
      method: "PATCH",
      type: "application/apply-patch+yaml",
      body: Buffer.from(applied),
    },
  ];
});

const replacements: readonly BodyClass[] = ["values", "keys"].map((what) => ({
  name: `stored: custom resource, wide: PUT with other ${what}`,
  path: `/apis/example.com/v1/namespaces/default/larges/wide${dry}`,
  method: "PUT",
  type: json,
  body: Buffer.from(
    JSON.stringify({
      apiVersion: "example.com/v1",
      kind: "Large",
      metadata: { name: "wide", resourceVersion: wideVersion },
      spec: {
        open:
          what === "values"
            ? numbered(47_000, 2)
            : Object.fromEntries(many(47_000, (i) => [`o${i}`, 1])),
      },
    }),
  ),
}));

/** YAML bodies have a bound of 50,000 nodes. */
const applications: readonly BodyClass[] = [
  {
    name: "stored: custom resource, long: apply of 16,000 items",
    path: "/apis/example.com/v1/namespaces/default/larges/long?dryRun=All&fieldManager=m&force=true",
    method: "PATCH",
    type: "application/apply-patch+yaml",
    body: Buffer.from(
      JSON.stringify({
        apiVersion: "example.com/v1",
        kind: "Large",
        metadata: { name: "long" },
        spec: { items: many(16_000, (i) => ({ name: `i${i}`, size: i })) },
      }),
    ),
  },
  {
    name: "accepted: apply of a Service of 10,000 ports",
    path: `${core}/services/large?dryRun=All&fieldManager=m`,
    method: "PATCH",
    type: "application/apply-patch+yaml",
    body: Buffer.from(
      JSON.stringify({
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "large" },
        spec: { ports: many(10_000, (i) => ({ name: `p${i}`, port: i + 1 })) },
      }),
    ),
  },
];

export const storedObjects: readonly BodyClass[] = [
  ...reads,
  ...customResources,
  ...replacements,
  ...applications,
  {
    name: "stored: merge patch of a label",
    path: wide + dry,
    method: "PATCH",
    type: mergePatch,
    body: label,
  },
  {
    name: "stored: strategic merge patch of a label",
    path: wide + dry,
    method: "PATCH",
    type: "application/strategic-merge-patch+json",
    body: label,
  },
  {
    name: "stored: JSON patch, 1,000 operations",
    path: wide + dry,
    method: "PATCH",
    type: "application/json-patch+json",
    body: Buffer.from(
      JSON.stringify(many(1000, (i) => ({ op: "replace", path: `/data/k${i}`, value: "x" }))),
    ),
  },
  {
    name: "stored: apply of a label",
    path: `${wide}?dryRun=All&fieldManager=m`,
    method: "PATCH",
    type: "application/apply-patch+yaml",
    body: Buffer.from("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: wide, labels: {a: b}}\n"),
  },
  { name: "stored: deletion", path: wide + dry, method: "DELETE", type: json, body: none },
];

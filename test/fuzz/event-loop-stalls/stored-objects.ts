/**
 * Requests that are small themselves, about a stored ConfigMap of 24,000 keys, and about custom resources
 * of 47,000 open fields and of 16,000 items.
 */
import { type BodyClass, core, dry, json, many, mergePatch, protobuf, yaml } from "./build-body.ts";

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

export const storedObjects: readonly BodyClass[] = [
  ...reads,
  ...customResources,
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

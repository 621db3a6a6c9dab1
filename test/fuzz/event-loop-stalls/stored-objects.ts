/** Requests that are small themselves, about a stored ConfigMap of 24,000 keys. */
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

export const storedObjects: readonly BodyClass[] = [
  ...reads,
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

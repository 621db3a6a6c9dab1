/** What the request bodies of this test are made of. */
import { customResourceDefinition } from "../../../pkg/crd/testing.ts";

export interface BodyClass {
  readonly name: string;
  readonly path: string;
  /** Default POST. */
  readonly method?: string;
  readonly type: string;
  readonly body: Buffer;
  /** Default JSON. */
  readonly accept?: string;
  /** The user who is impersonated. */
  readonly user?: string;
  /** A creation before each round, which is not measured. */
  readonly before?: { readonly path: string; readonly body: (round: number) => Buffer };
}

export const json = "application/json";
export const yaml = "application/yaml";
export const protobuf = "application/vnd.kubernetes.protobuf";
export const mergePatch = "application/merge-patch+json";

export const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
export const core = "/api/v1/namespaces/default";
export const dry = "?dryRun=All";

/** Stands for the resourceVersion of the stored custom resource of 47,000 open fields, in bodies. */
export const wideVersion = "version of wide";

/** The custom resource that the server of this test defines: a list with keys, and open fields. */
export const definition = customResourceDefinition(
  { plural: "larges", kind: "Large" },
  {
    schema: {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: {
            items: {
              type: "array",
              "x-kubernetes-list-type": "map",
              "x-kubernetes-list-map-keys": ["name"],
              items: {
                type: "object",
                required: ["name"],
                properties: { name: { type: "string" }, size: { type: "integer" } },
              },
            },
            open: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
          },
        },
      },
    },
  },
);

export function many<V>(count: number, make: (index: number) => V): V[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

export function numbered(count: number, value: unknown = ""): object {
  return Object.fromEntries(many(count, (index) => [`k${index}`, value]));
}

export function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left]);
    bytes.push((left % 128) | 0x80);
  }
}

export function field(number: number, value: Buffer | string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

/** That many empty messages, or texts, in a repeated field. */
export function empties(number: number, count: number): Buffer {
  return Buffer.alloc(count * 2, field(number, ""));
}

export function message(apiVersion: string, kind: string, raw: Buffer): Buffer {
  const type = Buffer.concat([field(1, apiVersion), field(2, kind)]);
  return Buffer.concat([Buffer.from("k8s\0"), field(1, type), field(2, raw)]);
}

export const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview" };
export const attributes = { verb: "get", resource: "pods" };

export function reviewOf(more: object): Buffer {
  const spec = { resourceAttributes: attributes };
  return Buffer.from(JSON.stringify({ ...review, spec, ...more }));
}

export function protobufReview(raw: Buffer): Buffer {
  return message(review.apiVersion, review.kind, raw);
}

export function object(apiVersion: string, kind: string, more: object): Buffer {
  return Buffer.from(JSON.stringify({ apiVersion, kind, metadata: { name: "large" }, ...more }));
}

export function pod(spec: object): Buffer {
  return object("v1", "Pod", { spec: { containers: [{ name: "c", image: "i" }], ...spec } });
}

/** Metadata with one name, in Protobuf. */
export const named = field(1, field(1, "large"));

export const kube = `${core}/configmaps/there`;

export function yamlMap(count: number, name: string): Buffer {
  const head = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata:\n`;
  return Buffer.from(head + many(count, (i) => `  k${i}: ""\n`).join(""));
}

export function definitionOf(properties: number): Buffer {
  const schema = {
    type: "object",
    properties: Object.fromEntries(many(properties, (i) => [`p${i}`, { type: "string" }])),
  };
  const versions = [
    { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } },
  ];
  const { spec } = definition;
  const metadata = { name: "widers.example.com" };
  const names = { plural: "widers", kind: "Wider" };
  const body = { ...definition, metadata, spec: { ...spec, names, versions } };
  return Buffer.from(JSON.stringify(body));
}

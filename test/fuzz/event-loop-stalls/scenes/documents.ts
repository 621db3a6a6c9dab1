/** OpenAPI and discovery: their first answers, and those after a new definition, among 1,000. */
import { customResourceDefinition } from "../../../../pkg/crd/testing.ts";
import { type BodyClass, json } from "../build-body.ts";
import { digits, post, type Scene, serverWithCopies, serving, untilServed } from "./scene.ts";

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const protobufV2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const storedDefinitions = "/registry/apiextensions.k8s.io/customresourcedefinitions";
const count = 1_000;

const reads: readonly BodyClass[] = [
  { name: "OpenAPI v3, index", path: "/openapi/v3" },
  { name: "OpenAPI v3, apps/v1", path: "/openapi/v3/apis/apps/v1" },
  { name: "OpenAPI v2, JSON", path: "/openapi/v2" },
  { name: "OpenAPI v2, Protobuf", path: "/openapi/v2", accept: protobufV2 },
  { name: "aggregated discovery", path: "/apis", accept: aggregated },
].map((read) => ({ type: json, body: Buffer.alloc(0), method: "GET", ...read }));

export const documents: Scene = {
  name: "first documents",
  prepare: async (start) => ({ server: await start(serving) }),
  requests: reads.map((read) => ({ ...read, name: `first ${read.name}` })),
  fresh: true,
};

function definitionNamed(n: string): object {
  const properties = Object.fromEntries(
    Array.from({ length: 50 }, (_each, i) => [
      `field${i}`,
      { type: "string", description: `The field ${i} of things, which is not used.` },
    ]),
  );
  const spec = { type: "object", properties };
  const schema = { type: "object", properties: { spec, status: spec } };
  return customResourceDefinition(
    { plural: `things${n}`, kind: `Thing${n}` },
    { group: "scale.example.com", schema, version: { subresources: { status: {} } } },
  );
}

export const definitions: Scene = {
  name: "1,000 definitions",
  prepare: (start) =>
    serverWithCopies(
      start,
      async (server) => {
        await post(server, definitionsPath, definitionNamed(digits(0)));
        await untilServed(server, "/apis/scale.example.com/v1");
      },
      [
        {
          key: `${storedDefinitions}/things${digits(0)}.scale.example.com`,
          replace: (n) => [[digits(0), digits(n)]],
          count,
        },
      ],
    ),
  requests: [
    ...reads.map((read) => ({ ...read, name: `1,000 definitions: ${read.name}` })),
    {
      name: "1,000 definitions: OpenAPI v3 of their group",
      path: "/openapi/v3/apis/scale.example.com/v1",
      method: "GET",
      type: json,
      body: Buffer.alloc(0),
    },
    ...reads.map((read) => ({
      ...read,
      name: `1,000 definitions and a new one: ${read.name}`,
      before: {
        path: definitionsPath,
        body: (round: number) =>
          Buffer.from(
            JSON.stringify(
              definitionNamed(`${read.path.length}x${read.accept?.length ?? 0}y${round}`),
            ),
          ),
      },
    })),
  ],
};

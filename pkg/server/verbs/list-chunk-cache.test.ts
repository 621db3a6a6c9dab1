import assert from "node:assert/strict";
import { builtinKinds } from "#api";
import { silentLogger } from "#base";
import { Catalog, domainOf } from "#meta";
import type { Item, Registry } from "#registry";
import { fromJson } from "#schema";
import { createServer } from "../index.ts";

const catalog = new Catalog(builtinKinds, domainOf());
const configMaps = catalog.find("", "v1", "configmaps")!;
const list = "/api/v1/configmaps";
const protobuf = "application/vnd.kubernetes.protobuf";

function item(index: number, characters: number): Item {
  const value = { metadata: { name: `n${index}` }, data: { text: "x".repeat(characters) } };
  const object = { ...value, metadata: { ...value.metadata, resourceVersion: "7" } };
  return {
    resource: configMaps,
    key: `/configmaps/${index}`,
    bytes: Buffer.from(JSON.stringify({ kind: "ConfigMap", apiVersion: "v1", ...value })),
    revision: 7,
    object: fromJson(configMaps.struct, object),
  };
}

/** Lists the same chunks each time; one has objects too large to be joined. */
const chunkItems = [1000, 3000, 9000, 10].map((characters, chunk) =>
  Array.from({ length: 24 }, (_, index) => item(chunk * 100 + index, characters)),
);

async function* each<T>(values: Iterable<T>): AsyncGenerator<T> {
  yield* values;
}

function serverWith(limits: { readonly listChunkCacheBytes?: number }) {
  const registry = {
    list: async () => ({ items: each([]), chunks: each(chunkItems), revision: 9, next: undefined }),
  };
  return createServer({
    catalog,
    registry: registry as unknown as Registry,
    authenticator: {
      authenticate: async () => ({ name: "ada", uid: "", groups: [], extra: new Map() }),
    },
    authorizer: { authorize: async () => ({ verdict: "allow", reason: "" }) },
    logger: silentLogger,
    limits,
  });
}

describe("list chunk cache", () => {
  for (const limits of [{}, { listChunkCacheBytes: 0 }, { listChunkCacheBytes: 40_000 }]) {
    it(`are the same bytes every time (${JSON.stringify(limits)})`, async () => {
      const server = serverWith(limits);
      const whole = async (accept: string): Promise<Buffer> => {
        const response = await server.handle({ method: "GET", url: list, headers: { accept } });
        const pieces: Uint8Array[] = [];
        for await (const piece of response.body) pieces.push(Uint8Array.from(piece));
        return Buffer.concat(pieces);
      };
      for (const accept of ["application/json", protobuf]) {
        const first = await whole(accept);
        for (let again = 0; again < 3; again++) assert.ok((await whole(accept)).equals(first));
        if (accept === protobuf) continue;
        const names = JSON.parse(first.toString()).items.map((each: any) => each.metadata.name);
        assert.deepEqual(
          names,
          chunkItems.flat().map(({ object }) => object.metadata.name),
        );
      }
    });
  }
});

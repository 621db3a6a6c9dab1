import assert from "node:assert/strict";
import { builtinKinds } from "#api";
import { silentLogger } from "#base";
import { Catalog, domainOf } from "#meta";
import type { EventBatch, Item, Registry } from "#registry";
import { fromJson } from "#schema";
import { createServer } from "../index.ts";

const catalog = new Catalog(builtinKinds, domainOf());
const configMaps = catalog.find("", "v1", "configmaps")!;

const item: Item = {
  resource: configMaps,
  key: "/configmaps/a",
  bytes: Buffer.from('{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}'),
  revision: 7,
  object: fromJson(configMaps.struct, { metadata: { name: "a", resourceVersion: "7" } }),
};

async function* batches(): AsyncGenerator<EventBatch> {
  yield { events: [{ type: "ADDED", item, encoded: undefined }], encoded: undefined };
}

describe("watches", () => {
  for (const accept of ["application/json", "application/vnd.kubernetes.protobuf;stream=watch"]) {
    it(`keep no memory but the frames of their events, ${accept}`, async () => {
      const server = createServer({
        catalog,
        registry: { watchBatches: batches } as unknown as Registry,
        authenticator: {
          authenticate: async () => ({ name: "ada", uid: "", groups: [], extra: new Map() }),
        },
        authorizer: { authorize: async () => ({ verdict: "allow", reason: "" }) },
        logger: silentLogger,
      });
      const url = "/api/v1/configmaps?watch=true";
      const response = await server.handle({ method: "GET", url, headers: { accept } });
      const frames: Uint8Array[] = [];
      for await (const frame of response.body) frames.push(frame);
      assert.equal(frames.length, 1);
      const [frame] = frames as [Uint8Array];
      // Node's pool of small Buffers has 64 KiB.
      assert.ok(frame.buffer.byteLength < frame.byteLength + 100, `${frame.buffer.byteLength}`);
    });
  }
});

import assert from "node:assert/strict";
import { startServer, type RunningServer } from "../keelson/index.ts";
import { parseFlags } from "../flags/parse.ts";
import { simulationSettings } from "../nodes/flags.ts";
import { startFlags } from "./options.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const classes = "/apis/storage.k8s.io/v1/storageclasses";

/** Names of the objects, once there are any; [] = none within the deadline. */
async function namesOf(server: RunningServer, path: string): Promise<readonly string[]> {
  for (let tries = 0; tries < 200; tries++) {
    const { items } = (await (await server.fetch(path)).json()) as {
      readonly items: readonly { readonly metadata: { readonly name: string } }[];
    };
    if (items.length > 0) return items.map(({ metadata }) => metadata.name);
    await new Promise((done) => setTimeout(done, 20));
  }
  return [];
}

describe("a local cluster", () => {
  const started = async (words: readonly string[]) => {
    const values = parseFlags(startFlags, words);
    return startServer({ nodes: { count: values.nodes, ...simulationSettings(values) } });
  };

  it("has a default StorageClass, and no custom resources", async () => {
    const server = await started([]);
    assert.deepEqual(await namesOf(server, classes), ["standard"]);
    // Nodes register after they would have created the definition of Stages.
    assert.deepEqual(await namesOf(server, "/api/v1/nodes"), ["hollow-0"]);
    const { items } = (await (await server.fetch(definitions)).json()) as { items: unknown[] };
    assert.deepEqual(items, []);
    await server.close();
  });

  it("has KWOK's Stages by its flag, and the StorageClass that a flag names", async () => {
    const server = await started(["--stages", "--default-storage-class=other"]);
    assert.deepEqual(await namesOf(server, definitions), ["stages.kwok.x-k8s.io"]);
    assert.deepEqual(await namesOf(server, classes), ["other"]);
    await server.close();
  });
});

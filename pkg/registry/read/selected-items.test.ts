import assert from "node:assert/strict";
import { type Random, seededRandom } from "#base";
import type { Item, ListOptions } from "../contract.ts";
import { collected, testRegistry, type TestRegistry } from "../testing.ts";

const nodes = ["", "n0", "n1", "n2", "n3"];
const phases = ["Pending", "Running"];

/** A pod as stored; written below admission, since nodeName may change there at will. */
function podBytes(name: string, random: Random): Uint8Array {
  const nodeName = nodes[random.below(nodes.length)]!;
  const metadata = { name, namespace: "ns", labels: { even: String(random.below(2)) } };
  const status = { phase: phases[random.below(2)]! };
  const pod = { kind: "Pod", apiVersion: "v1", metadata, spec: { nodeName }, status };
  return Buffer.from(JSON.stringify(pod));
}

interface Case {
  readonly options: Partial<ListOptions>;
  readonly wanted: (pod: any) => boolean;
}

function caseOf(random: Random): Case {
  const node = nodes[random.below(nodes.length)]!;
  const phase = phases[random.below(2)]!;
  const cases: readonly Case[] = [
    {
      options: { fieldSelector: `spec.nodeName=${node}` },
      wanted: ({ spec }) => (spec.nodeName ?? "") === node,
    },
    {
      options: { fieldSelector: `spec.nodeName=${node},status.phase!=${phase}` },
      wanted: ({ spec, status }) => (spec.nodeName ?? "") === node && status.phase !== phase,
    },
    {
      options: { fieldSelector: `status.phase=${phase}`, labelSelector: "even=0" },
      wanted: ({ metadata, status }) => status.phase === phase && metadata.labels.even === "0",
    },
    {
      options: { fieldSelector: `spec.nodeName!=${node}` },
      wanted: ({ spec }) => (spec.nodeName ?? "") !== node,
    },
  ];
  return cases[random.below(cases.length)]!;
}

const summaryOf = (items: readonly Item[]): string =>
  items.map(({ key, revision }) => `${key.split("/").at(-1)}@${revision}`).join(" ");

const collectionOf = async (api: TestRegistry, options: Partial<ListOptions>) => {
  const { items, next, revision } = await api.list("v1/pods/ns", options);
  return { items: await collected(items), next, revision };
};

/** Creates, changes or deletes one of 300 pods. */
async function write(api: TestRegistry, random: Random): Promise<void> {
  const name = `p${random.below(300)}`;
  const key = `/pods/ns/${name}`;
  const { entry } = await api.store.get(key);
  if (entry === undefined) await api.store.create(key, podBytes(name, random));
  else if (random.below(4) === 0) await api.store.delete(key, entry.modRevision);
  else await api.store.update(key, entry.modRevision, podBytes(name, random));
}

describe("selection of items by a field", () => {
  it("equals a filter of all items, at every revision and page by page", async () => {
    const seed = Date.now() % 1_000_000_007;
    const random = seededRandom(seed);
    const api = await testRegistry({ namespaces: ["ns"] });
    for (let n = 0; n < 400; n++) await write(api, random);
    const oldest = await api.store.revision();
    for (let round = 0; round < 80; round++) {
      for (let writes = random.below(4); writes > 0; writes--) await write(api, random);
      const newest = await api.store.revision();
      const revision = oldest + random.below(newest - oldest + 1);
      const exact = { resourceVersion: String(revision), resourceVersionMatch: "Exact" };
      const version = [{}, { resourceVersion: "0" }, exact][random.below(3)]!;
      const { options, wanted } = caseOf(random);
      const all = await collectionOf(api, version);
      const expected = summaryOf(all.items.filter(({ object }) => wanted(object)));
      const at = `${JSON.stringify({ ...options, ...version })}, seed ${seed}`;
      assert.equal(
        summaryOf((await collectionOf(api, { ...options, ...version })).items),
        expected,
        at,
      );

      const paged: Item[] = [];
      const limit = 1 + random.below(20);
      let page = await collectionOf(api, { ...options, ...version, limit });
      for (;;) {
        paged.push(...page.items);
        if (page.next === undefined) break;
        await write(api, random);
        page = await collectionOf(api, {
          ...options,
          limit,
          continueToken: page.next.continueToken,
        });
      }
      assert.equal(summaryOf(paged), expected, `limit ${limit}, ${at}`);
    }
  });

  it("selects the initial events of a watch", async () => {
    const random = seededRandom(7);
    const api = await testRegistry({ namespaces: ["ns"] });
    for (let n = 0; n < 400; n++) await write(api, random);
    const { items } = await collectionOf(api, { fieldSelector: "spec.nodeName=n1" });
    assert.ok(items.length > 20);
    const found: Item[] = [];
    for await (const event of api.watch("v1/pods/ns", { fieldSelector: "spec.nodeName=n1" })) {
      if (event.type === "ADDED") found.push(event.item);
      if (found.length === items.length) break;
    }
    assert.equal(summaryOf(found), summaryOf(items));
  });
});

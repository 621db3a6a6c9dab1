import assert from "node:assert/strict";
import { refusal, testRegistry, type TestRegistry } from "../testing.ts";

const maps = "v1/configmaps/ns";

describe("get", () => {
  let api: TestRegistry;
  beforeEach(async () => {
    api = await testRegistry({ namespaces: ["ns", "other"] });
  });

  it("accepts past resourceVersions and rejects future and malformed ones", async () => {
    const { item } = await api.post(maps, { metadata: { name: "a" } });
    for (const version of ["", "0", "1", String(item.revision)]) {
      assert.equal((await api.get(`${maps}/a`, version)).revision, item.revision);
    }
    assert.equal(
      await refusal(api.get(`${maps}/a`, "abc")),
      '500 - resourceVersion: Invalid value: "abc": ' +
        'strconv.ParseUint: parsing "abc": invalid syntax',
    );
    assert.match(await refusal(api.get(`${maps}/a`, "999999999")), /^504 Timeout/);
    assert.match(await refusal(api.get(`${maps}/zz`)), /^404/);
  });
});

describe("a resourceVersion of the future", () => {
  for (const [collection, name, isCached] of [
    ["v1/configmaps/ns", "a ConfigMap", true],
    ["v1/events/ns", "an Event", false],
  ] as const) {
    it(`of ${name}: ${isCached ? "the client may retry" : "nothing is said of retries"}`, async () => {
      const test = await testRegistry();
      const [got, listed] = await Promise.allSettled([
        test.get(`${collection}/a`, "999999999"),
        test.list(collection, { resourceVersion: "999999999" }),
      ]);
      for (const result of [got, listed]) {
        assert.equal(result.status, "rejected");
        const { reason } = result as PromiseRejectedResult;
        assert.equal(reason.code, 504);
        assert.equal(reason.status.details.retryAfterSeconds, isCached ? 1 : undefined);
      }
    });
  }
});

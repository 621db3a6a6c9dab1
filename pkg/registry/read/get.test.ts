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

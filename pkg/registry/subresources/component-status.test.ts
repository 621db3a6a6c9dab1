import assert from "node:assert/strict";
import { refusal, testRegistry } from "../testing.ts";

describe("component statuses", () => {
  it("are computed on every read, and cannot be watched", async () => {
    const test = await testRegistry();
    const path = "v1/componentstatuses";
    assert.deepEqual(await test.names(path), ["controller-manager", "etcd-0", "scheduler"]);
    const [health] = (await test.get(`${path}//etcd-0`)).object.conditions;
    assert.deepEqual(health, { type: "Healthy", status: "True", message: "ok" });
    const { metadata } = (await test.get(`${path}//etcd-0`)).object;
    assert.equal(metadata.resourceVersion, undefined);
    const missing = test.get(`${path}//x`);
    assert.equal(await refusal(missing), '404 NotFound componentstatus "x" not found');
    const [controllers] = (await test.get(`${path}//controller-manager`)).object.conditions;
    assert.equal(controllers.status, "False");
    const watch = () => test.watch(path);
    assert.match(await refusal(watch), /^405 .*watch is not supported/);
  });

  it("report controllers and scheduler of this process as healthy", async () => {
    const test = await testRegistry({ runsControllers: true, runsScheduler: true });
    for (const name of ["controller-manager", "scheduler"]) {
      const { conditions } = (await test.get(`v1/componentstatuses//${name}`)).object;
      assert.deepEqual(conditions, [{ type: "Healthy", status: "True", message: "ok" }]);
    }
  });
});

import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("PodNodeSelector", () => {
  const configuration = {
    PodNodeSelector: {
      podNodeSelectorPluginConfig: {
        clusterDefaultNodeSelector: "env=prod",
        ns: "env=prod,disk=ssd",
      },
    },
  };
  const start = () => testAdmission("PodNodeSelector", { configuration });
  const pod = (nodeSelector?: object) => ({ metadata: { name: "p" }, spec: { nodeSelector } });

  it("adds the selector of the cluster", async () => {
    const test = await start();
    const object = pod({ disk: "ssd" });
    assert.equal(await test.admit("create v1/pods/ns", { object }), "accepted");
    assert.deepEqual({ ...object.spec.nodeSelector }, { env: "prod", disk: "ssd" });
  });

  it("refuses conflicts with the namespace and its whitelist", async () => {
    const test = await start();
    const create = (selector: object) => test.admit("create v1/pods/ns", { object: pod(selector) });
    assert.equal(
      await create({ env: "test" }),
      '403 pods "p" is forbidden: ' +
        "pod node label selector conflicts with its namespace node label selector",
    );
    assert.equal(
      await create({ zone: "z" }),
      '403 pods "p" is forbidden: ' +
        "pod node label selector labels conflict with its namespace whitelist",
    );
  });
});

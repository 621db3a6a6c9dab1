import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("LimitPodHardAntiAffinityTopology", () => {
  it("allows the host name as topology key, and nothing else", async () => {
    const test = await testAdmission("LimitPodHardAntiAffinityTopology");
    const apart = (topologyKey: string) => {
      const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey }] };
      return { metadata: { name: "p" }, spec: { affinity: { podAntiAffinity } } };
    };
    const create = (topologyKey: string) =>
      test.admit("create v1/pods/ns", { object: apart(topologyKey) });
    assert.equal(await create("kubernetes.io/hostname"), "accepted");
    assert.equal(
      await create("zone"),
      '403 pods "p" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling ' +
        "has TopologyKey zone but only key kubernetes.io/hostname is allowed",
    );
  });
});

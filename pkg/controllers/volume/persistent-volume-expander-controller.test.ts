/** Claims that grow. */
import assert from "node:assert/strict";
import { testRegistry } from "../../registry/testing.ts";
import { eventsOf, passInSteps } from "../node/testing.ts";
import { startController } from "../testing.ts";
import { runPersistentVolumeExpander } from "./persistent-volume-expander-controller.ts";

describe("persistentvolume-expander-controller", () => {
  it("records an Event on a growing bound claim that its driver has to expand the volume", async () => {
    const test = await testRegistry();
    const claims = "v1/persistentvolumeclaims/ns";
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    const { item } = await test.post(claims, {
      metadata: { name: "c" },
      spec: { ...spec, volumeName: "v" },
    });
    await test.post("v1/persistentvolumes/", {
      metadata: { name: "v" },
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        csi: { driver: "d", volumeHandle: "h" },
        claimRef: { namespace: "ns", name: "c", uid: item.object.metadata.uid },
      },
    });
    const status = { phase: "Bound", capacity: { storage: "1Gi" } };
    await test.patch(`${claims}/c/status`, { status });
    const run = await startController(runPersistentVolumeExpander, { test, clock: test.clock });
    try {
      await passInSteps(test, 500);
      assert.deepEqual(await eventsOf(test, "ns", "c"), []);
      await test.patch(`${claims}/c`, { spec: { resources: { requests: { storage: "2Gi" } } } });
      await passInSteps(test, 500);
      assert.deepEqual(await eventsOf(test, "ns", "c"), [
        "Normal ExternalExpanding: waiting for an external controller to expand this PVC",
      ]);
    } finally {
      await run.stop();
    }
  });
});

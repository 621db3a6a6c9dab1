import assert from "node:assert/strict";
import type { Clock } from "#base";
import { type ControllerTest, startController } from "../testing.ts";
import { testRegistry } from "../../registry/testing.ts";
import { runIdentityLease } from "./identity-lease.ts";

const leases = "coordination.k8s.io/v1/leases/kube-system";
const labels = { "apiserver.kubernetes.io/identity": "kube-apiserver" };

describe("identity lease of the API server", () => {
  let run: ControllerTest;
  let clock: Clock & { advance(ms: number): void };
  beforeEach(async () => {
    const test = await testRegistry({ namespaces: ["kube-system"] });
    ({ clock } = test);
    const lease = (name: string, renewTime: string) =>
      test.post(leases, {
        metadata: { name, labels },
        spec: { renewTime, leaseDurationSeconds: 60 },
      });
    await lease("apiserver-gone", "2029-12-31T00:00:00.000000Z");
    await lease("apiserver-other", "2030-01-01T00:00:30.000000Z");
    run = await startController(
      (context) => runIdentityLease({ ...context, hostname: "host", port: 6443 }),
      { test, clock },
    );
  });
  afterEach(() => run.stop());

  const own = async () => {
    const names = await run.test.names(leases);
    const name = names.find((each) => !["apiserver-gone", "apiserver-other"].includes(each));
    return name === undefined ? undefined : (await run.test.get(`${leases}/${name}`)).object;
  };

  it("is created with hostname and label, and expired Leases of other servers are deleted", async () => {
    const { metadata, spec } = await run.until(own);
    assert.equal(metadata.labels["kubernetes.io/hostname"], "host");
    assert.equal(metadata.labels["apiserver.kubernetes.io/identity"], "kube-apiserver");
    assert.equal(spec.leaseDurationSeconds, 3600);
    await run.until(async () => (await run.test.names(leases)).length === 2);
    assert.ok((await run.test.names(leases)).includes("apiserver-other"));
  });

  it("is renewed; a failed renewal is reported and retried", async () => {
    const { spec } = await run.until(own);
    run.failNext("update", "leases", 1);
    const renewed = await run.until(async () => {
      clock.advance(5_000);
      const lease = await own();
      return lease.spec.renewTime > spec.renewTime ? lease : undefined;
    });
    assert.equal(renewed.spec.holderIdentity, spec.holderIdentity);
    assert.match(run.reports.join(), /injected/);
  });
});

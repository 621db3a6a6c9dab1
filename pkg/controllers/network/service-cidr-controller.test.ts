/** When ServiceCIDRs are ready, and when deleted ones go. */
import assert from "node:assert/strict";
import { type ControllerTest, startController } from "../testing.ts";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { runServiceCidrController } from "./service-cidr-controller.ts";

const cidrs = "networking.k8s.io/v1/servicecidrs";
const addresses = "networking.k8s.io/v1/ipaddresses";
const finalizer = "networking.k8s.io/service-cidr-finalizer";

describe("service-cidr-controller", () => {
  let run: ControllerTest;
  let test: TestRegistry;
  beforeEach(async () => {
    test = await testRegistry();
    run = await startController(runServiceCidrController, { test, clock: test.clock });
  });
  afterEach(() => run.stop());

  const make = (name: string, ...ranges: readonly string[]) =>
    test.post(cidrs, { metadata: { name }, spec: { cidrs: ranges } });
  const use = (address: string, manager = "ipallocator.k8s.io") =>
    test.post(addresses, {
      metadata: { name: address, labels: { "ipaddress.kubernetes.io/managed-by": manager } },
      spec: { parentRef: { resource: "services", namespace: "ns", name: "s" } },
    });
  const is = (name: string, status: string, reason: string) =>
    run.until(async () => {
      const { object } = await test.get(`${cidrs}//${name}`);
      const [ready] = object.status?.conditions ?? [];
      return ready?.type === "Ready" && ready.status === status && ready.reason === reason;
    });
  const isReady = (name: string) => is(name, "True", "");
  const isBlocked = (name: string) => is(name, "False", "Terminating");
  const left = (...names: readonly string[]) =>
    run.until(async () => {
      test.clock.advance(1_000);
      return String(await test.names(cidrs)) === String(names);
    });

  it("makes a ServiceCIDR ready and protects it", async () => {
    await make("extra", "10.5.0.0/24", "fd00::/112");
    await isReady("extra");
    const { metadata, status } = (await test.get(`${cidrs}//extra`)).object;
    assert.deepEqual(metadata.finalizers, [finalizer]);
    assert.equal(status.conditions[0].message, "Kubernetes Service CIDR is ready");
  });

  it("releases an unused one after the grace period of ten seconds", async () => {
    await make("extra", "10.5.0.0/24");
    await isReady("extra");
    await use("10.6.0.1");
    await use("10.5.0.9", "another");
    await test.remove(`${cidrs}//extra`);
    await make("probe", "10.7.0.0/24");
    await isReady("probe");
    assert.deepEqual(await test.names(cidrs), ["extra", "probe"]);
    test.clock.advance(11_000);
    await left("probe");
  });

  it("keeps one in use until its addresses are released", async () => {
    await make("extra", "10.5.0.0/24");
    await use("10.5.0.9");
    await isReady("extra");
    await test.remove(`${cidrs}//extra`);
    await isBlocked("extra");
    test.clock.advance(60_000);
    assert.deepEqual(await test.names(cidrs), ["extra"]);
    await test.remove(`${addresses}//10.5.0.9`);
    await left();
  });

  it("releases one in use when another contains its addresses", async () => {
    await make("small", "10.5.0.0/24");
    await make("half", "10.5.0.0/25");
    await use("10.5.0.9");
    await use("10.5.0.200");
    await Promise.all([isReady("small"), isReady("half")]);
    await test.remove(`${cidrs}//small`);
    await isBlocked("small");
    await make("large", "10.4.0.0/14");
    await left("half", "large");
    await test.remove(`${cidrs}//half`);
    await left("large");
  });

  it("retries failed patches and lists", async () => {
    run.failNext("patch", "servicecidrs", 3);
    await make("extra", "10.5.0.0/24");
    await run.until(async () => {
      test.clock.advance(1_000);
      const { object } = await test.get(`${cidrs}//extra`);
      return object.status?.conditions?.[0]?.status === "True";
    });
    run.failNext("list", "ipaddresses", 2);
    await test.remove(`${cidrs}//extra`);
    await left();
    assert.ok(run.calls("list", "ipaddresses") >= 3);
  });
});

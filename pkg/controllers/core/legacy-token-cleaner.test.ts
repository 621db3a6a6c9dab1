/** The life of generated service account tokens that are not used. */
import assert from "node:assert/strict";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { type ControllerTest, startController } from "../testing.ts";
import { runLegacyTokenCleaner } from "./legacy-token-cleaner.ts";

const secrets = "v1/secrets/ns";
const dayMs = 86_400_000;
const periodDays = 10;

describe("legacy-serviceaccount-token-cleaner-controller", () => {
  let test: TestRegistry;
  let run: ControllerTest | undefined;

  const dayText = () => new Date(test.clock.now()).toISOString().slice(0, 10);

  beforeEach(async () => {
    test = await testRegistry();
    await test.post("v1/namespaces/", { metadata: { name: "kube-system" } });
    const name = "kube-apiserver-legacy-service-account-token-tracking";
    await test.post("v1/configmaps/kube-system", {
      metadata: { name },
      data: { since: dayText() },
    });
    const listed = ["idle", "used", "mounted", "garbled"].map((each) => ({ name: each }));
    await test.post("v1/serviceaccounts/ns", { metadata: { name: "app" }, secrets: listed });
    for (const each of ["idle", "used", "mounted", "garbled", "by-hand"]) await makeToken(each);
    const volumes = [{ name: "v", secret: { secretName: "mounted" } }];
    const containers = [{ name: "c", image: "i" }];
    await test.post("v1/pods/ns", { metadata: { name: "p" }, spec: { containers, volumes } });
    await label("garbled", { "kubernetes.io/legacy-token-last-used": "yesterday" });
  });
  afterEach(async () => run?.stop());

  async function makeToken(name: string): Promise<void> {
    const annotations = { "kubernetes.io/service-account.name": "app" };
    const type = "kubernetes.io/service-account-token";
    await test.post(secrets, { metadata: { name, annotations }, type });
  }

  const label = (name: string, labels: object) =>
    test.patch(`${secrets}/${name}`, { metadata: { labels } });

  const start = async (): Promise<ControllerTest> => {
    const options = { legacyTokenCleanUpMs: periodDays * dayMs };
    run = await startController((context) => runLegacyTokenCleaner(context, options), {
      test,
      clock: test.clock,
    });
    return run;
  };

  /** Advances the clock by days until `done`; returns the number of days. */
  async function days(done: () => Promise<boolean>): Promise<number> {
    for (let count = 0; ; count++) {
      if (await done()) return count;
      assert.ok(count < 100, "never came");
      // A round of the controller happens between two days.
      await new Promise((resolve) => setTimeout(resolve, 2));
      await label("used", { "kubernetes.io/legacy-token-last-used": dayText() });
      test.clock.advance(dayMs);
    }
  }

  const invalidSince = async (name: string): Promise<string | undefined> => {
    const { metadata } = (await test.get(`${secrets}/${name}`)).object;
    return metadata.labels?.["kubernetes.io/legacy-token-invalid-since"];
  };

  it("invalidates an idle token after the period, and deletes it after another one", async () => {
    await start();
    assert.ok((await days(async () => (await invalidSince("idle")) !== undefined)) >= periodDays);
    const since = Date.parse((await invalidSince("idle")) ?? "");
    await days(async () => !(await test.names(secrets)).includes("idle"));
    assert.ok(test.clock.now() - since >= periodDays * dayMs);
    assert.deepEqual(await test.names(secrets), ["by-hand", "garbled", "mounted", "used"]);
    for (const name of await test.names(secrets)) {
      assert.equal(await invalidSince(name), undefined, name);
    }
  });

  it("does nothing before use has been tracked for the period", async () => {
    const name = "kube-apiserver-legacy-service-account-token-tracking";
    test.clock.advance(20 * dayMs);
    await test.patch(`v1/configmaps/kube-system/${name}`, { data: { since: dayText() } });
    await start();
    assert.ok((await days(async () => (await invalidSince("idle")) !== undefined)) >= periodDays);
  });

  it("reports that tracking has not started", async () => {
    const name = "kube-apiserver-legacy-service-account-token-tracking";
    await test.remove(`v1/configmaps/kube-system/${name}`);
    const controller = await start();
    await controller.until(async () => controller.reports.length > 0);
    assert.match(controller.reports.join(), /configmaps "kube-apiserver-legacy.*" not found/);
  });
});

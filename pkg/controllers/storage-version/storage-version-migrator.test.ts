/** StorageVersionMigrations rewrite stored objects. */
import assert from "node:assert/strict";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { type ControllerTest, startController } from "../testing.ts";
import { runStorageVersionMigrator } from "./storage-version-migrator.ts";

const migrations = "storagemigration.k8s.io/v1alpha1/storageversionmigrations/";
const configMaps = "v1/configmaps/ns";

describe("storage-version-migrator-controller", () => {
  let test: TestRegistry;
  let run: ControllerTest;
  beforeEach(async () => {
    test = await testRegistry();
    for (const name of ["a", "b", "c"]) await test.post(configMaps, { metadata: { name } });
    run = await startController(runStorageVersionMigrator, { test, clock: test.clock });
  });
  afterEach(() => run.stop());

  const migrate = (resource: object) =>
    test.post(migrations, { metadata: { name: "m" }, spec: { resource } });

  /** The conditions once the migration has ended, as `Type=Status reason message`. */
  const ended = (): Promise<readonly string[]> =>
    run.until(async () => {
      test.clock.advance(1_000);
      const { status } = (await test.get(`${migrations}/m`)).object;
      const conditions: readonly any[] = status?.conditions ?? [];
      if (!conditions.some(({ type }) => type !== "Running")) return undefined;
      return conditions.map(({ type, status, reason, message = "" }) =>
        `${type}=${status} ${reason} ${message}`.trim(),
      );
    });

  it("rewrites each object, and sets the condition", async () => {
    await migrate({ version: "v1", resource: "configmaps" });
    assert.deepEqual(await ended(), [
      "Running=False StorageVersionMigrationInProgress",
      "Succeeded=True StorageVersionMigrationSucceeded",
    ]);
    assert.equal(run.calls("patch", "configmaps"), 3);
    const { status } = (await test.get(`${migrations}/m`)).object;
    assert.ok(Number(status.resourceVersion) > 0);
  });

  it("fails for a resource that is not served", async () => {
    await migrate({ group: "example.com", version: "v1", resource: "widgets" });
    assert.deepEqual(await ended(), [
      "Failed=True StorageVersionMigrationFailed resource does not exist in discovery",
    ]);
  });

  it("fails the migration when a write fails, without retries", async () => {
    run.failNext("patch", "configmaps", 1);
    await migrate({ version: "v1", resource: "configmaps" });
    assert.deepEqual(await ended(), [
      "Running=False StorageVersionMigrationInProgress",
      "Failed=True StorageVersionMigrationFailed migration encountered unhandled error",
    ]);
    assert.match(run.reports.join(), /Failed to migrate m.*injected/);
  });
});

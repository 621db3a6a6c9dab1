import assert from "node:assert/strict";
import { storageVersion } from "../apiserverinternal/storage-version.ts";
import { created, type Sketch, updated } from "../testing.ts";
import { storageVersionMigration } from "./storage-version-migration.ts";

describe("StorageVersionMigration", () => {
  const spec = { resource: { group: "apps", version: "v1", resource: "deployments" } };
  const old = created(storageVersionMigration, { spec });
  const write = (status: Sketch, before = old) =>
    updated(storageVersionMigration, before, { spec, status }, { subresource: "status" });
  const condition = (type: string, value: string) => ({
    type,
    status: value,
    reason: "R",
    lastUpdateTime: "2024-01-01T00:00:00Z",
  });

  it("requires a resource, which is immutable", () => {
    assert.deepEqual(created(storageVersionMigration, {}).complaints, [
      "Required spec.resource.resource: resource is required",
      "Required spec.resource.version: version is required",
    ]);
    const other = { spec: { resource: { ...spec.resource, version: "v2" } } };
    assert.deepEqual(updated(storageVersionMigration, old, other).complaints, [
      'Invalid version = "v2": field is immutable',
    ]);
  });
  it("rejects reverting or combining final conditions", () => {
    const done = write({ conditions: [condition("Succeeded", "True")] });
    assert.deepEqual(done.complaints, []);
    const [complaint = ""] = write(
      { conditions: [condition("Succeeded", "False")] },
      done,
    ).complaints;
    assert.match(complaint, /^Invalid status.conditions = \[{"Type":"Succeeded","Status":"False"/);
    assert.match(complaint, /Success condition cannot be set to false once it is true$/);
    const both = [condition("Succeeded", "True"), condition("Running", "True")];
    assert.equal(write({ conditions: both }).complaints.length, 1);
  });
  it("requires a numeric resourceVersion", () => {
    assert.deepEqual(write({ resourceVersion: "abc" }).complaints, [
      'Invalid status.resourceVersion = "abc": failed to parse resource version "abc": ' +
        'strconv.ParseInt: parsing "abc": invalid syntax',
    ]);
  });
});

describe("StorageVersion", () => {
  const server = (apiServerID: string, encodingVersion: string) => ({
    apiServerID,
    encodingVersion,
    decodableVersions: ["v1", "apps/v1"],
  });
  const old = created(storageVersion, { metadata: { name: "apps.deployments" } });
  const write = (status: Sketch) =>
    updated(storageVersion, old, { status }, { subresource: "status" });
  it("requires the common encoding version of all servers", () => {
    const same = { storageVersions: [server("a", "apps/v1"), server("b", "apps/v1")] };
    assert.deepEqual(write({ ...same, commonEncodingVersion: "apps/v1" }).complaints, []);
    assert.deepEqual(write(same).complaints, [
      "Invalid status.commonEncodingVersion = null: the common encoding version is apps/v1",
    ]);
  });
  it("prints the version of each server", () => {
    const { object } = write({ storageVersions: [server("a", "v1"), server("b", "apps/v1")] });
    assert.deepEqual(storageVersion.row(object, { now: 0 }).slice(1, 3), [
      "<unset>",
      "a=v1,b=apps/v1",
    ]);
  });
});

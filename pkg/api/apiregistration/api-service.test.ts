import assert from "node:assert/strict";
import { created, type Sketch, updated } from "../testing.ts";
import { apiService } from "./api-service.ts";

const spec = { group: "a.example.com", version: "v1", groupPriorityMinimum: 1, versionPriority: 1 };
const metadata = { name: "v1.a.example.com" };
const make = (rest: Sketch = {}) => created(apiService, { metadata, spec: { ...spec, ...rest } });

describe("APIService", () => {
  it("is Available immediately if this server serves it", () => {
    assert.equal(make().object.status.conditions[0].reason, "Local");
    const service = { name: "s", namespace: "n" };
    assert.deepEqual(make({ service }).object.status, {});
    assert.equal(make({ service }).object.spec.service.port, 443);
  });
  const rows: readonly (readonly [Sketch, readonly string[]])[] = [
    [{}, []],
    [
      { versionPriority: 1001 },
      ["Invalid spec.versionPriority = 1001: must be positive and less than 1000"],
    ],
    [
      { caBundle: "YWJj" },
      ['Invalid spec.caBundle = "3 bytes": local APIServices may not have a caBundle'],
    ],
    [
      { service: { port: 0 } },
      [
        "Required spec.service.namespace",
        "Required spec.service.name",
        "Invalid spec.service.port = 0: port is not valid: must be between 1 and 65535, inclusive",
      ],
    ],
  ];
  for (const [rest, expected] of rows) {
    it(JSON.stringify(rest), () => assert.deepEqual(make(rest).complaints, expected));
  }
  it("ignores metadata in status updates", () => {
    const status = { conditions: [{ type: "Available", status: "Maybe" }] };
    const sketch = { metadata: { ...metadata, labels: { a: "b" } }, status };
    const { object, complaints } = updated(apiService, make(), sketch, { subresource: "status" });
    assert.equal(object.metadata.labels, undefined);
    assert.deepEqual(complaints, [
      'NotSupported status.conditions[0].status = "Maybe": supported values: "True", "False", ' +
        '"Unknown"',
    ]);
  });
  it("prints the reason why it is not available", () => {
    const { object } = make({ service: { name: "s", namespace: "n" } });
    object.status = { conditions: [{ type: "Available", status: "False", reason: "Gone" }] };
    assert.deepEqual(apiService.row(object, { now: 0 }).slice(1, 3), ["n/s", "False (Gone)"]);
  });
});

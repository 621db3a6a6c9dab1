import assert from "node:assert/strict";
import type { StatusError } from "./status.ts";
import * as errors from "./status-errors.ts";

const core = { group: "", plural: "configmaps" };
const leases = { group: "coordination.k8s.io", plural: "leases" };

/** the error, its code, reason and message */
const rows: readonly (readonly [StatusError, number, string | undefined, string])[] = [
  [errors.notFound(core, "a"), 404, "NotFound", 'configmaps "a" not found'],
  [
    errors.alreadyExists(leases, "l"),
    409,
    "AlreadyExists",
    'leases.coordination.k8s.io "l" already exists',
  ],
  [
    errors.alreadyExistsDeleting(core, "a"),
    409,
    "AlreadyExists",
    'object is being deleted: configmaps "a" already exists',
  ],
  [
    errors.conflict(core, "a"),
    409,
    "Conflict",
    'Operation cannot be fulfilled on configmaps "a": the object has been modified; ' +
      "please apply your changes to the latest version and try again",
  ],
  [
    errors.forbidden({ group: "", plural: "" }, "", 'User "x" cannot get path "/"'),
    403,
    "Forbidden",
    'forbidden: User "x" cannot get path "/"',
  ],
  [errors.forbidden(core, "", "no"), 403, "Forbidden", "configmaps is forbidden: no"],
  [errors.forbidden(core, "a", "no"), 403, "Forbidden", 'configmaps "a" is forbidden: no'],
  [
    errors.methodNotSupported(leases, "delete"),
    405,
    "MethodNotAllowed",
    'delete is not supported on resources of kind "leases.coordination.k8s.io"',
  ],
  [errors.internalError("x"), 500, "InternalError", "Internal error occurred: x"],
  [errors.plainFailure("x"), 500, undefined, "x"],
  [errors.applyConflict("Apply failed", [{ message: "m" }]), 409, "Conflict", "Apply failed"],
  [
    errors.unsupportedMediaType(["application/json", "application/yaml"]),
    415,
    "UnsupportedMediaType",
    "the body of the request was in an unknown format - " +
      "accepted media types include: application/json, application/yaml",
  ],
  [
    errors.tooLargeResourceVersion(9, 5),
    504,
    "Timeout",
    "Timeout: Too large resource version: 9, current: 5",
  ],
];

describe("status errors", () => {
  for (const [error, code, reason, message] of rows) {
    it(`${code} ${message.slice(0, 50)}`, () => {
      const { status } = error;
      assert.deepEqual(
        [status.code, status.reason, status.message, status.status, status.metadata],
        [code, reason, message, "Failure", {}],
      );
    });
  }

  it("omit empty members of details", () => {
    assert.deepEqual(errors.notFound(core, "a").status.details, { name: "a", kind: "configmaps" });
    assert.deepEqual(errors.notFound(leases, "l").status.details, {
      name: "l",
      group: "coordination.k8s.io",
      kind: "leases",
    });
    assert.equal(errors.badRequest("x").status.details, undefined);
    assert.deepEqual(errors.genericFailure(404).status.details, {});
  });

  it("have a Retry-After header for retryAfterSeconds", () => {
    assert.deepEqual(errors.generatedNameTaken(core, "a").headers, { "Retry-After": "1" });
    assert.deepEqual(errors.notFound(core, "a").headers, {});
  });

  it("offer a new continue token for an expired list", () => {
    assert.deepEqual(errors.expired("old", "token").status.metadata, { continue: "token" });
  });
});

describe("texts of unsupported values", () => {
  const text = (more: object) =>
    errors.problemText({ type: "FieldValueNotSupported", field: "a", detail: "", ...more });

  it("are JSON, or quoted if the value is a string in Go", () => {
    assert.equal(text({ value: "<a&b>" }), 'Unsupported value: "\\u003ca\\u0026b\\u003e"');
    assert.equal(text({ value: "<a&b>", isQuoted: true }), 'Unsupported value: "<a&b>"');
  });
});

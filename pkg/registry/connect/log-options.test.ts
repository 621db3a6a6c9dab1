import assert from "node:assert/strict";
import { StatusError } from "#meta";
import { Query } from "#request";
import { logOptions } from "./log-options.ts";

const read = (query: string) => () =>
  logOptions(Query.parse(query), { pod: "p", gates: () => false });

describe("options of a log request", () => {
  const atLeastZero = "must be greater than or equal to 0";
  const rejected: readonly (readonly [query: string, field: string, message: string])[] = [
    ["tailLines=-1", "tailLines", `Invalid value: -1: ${atLeastZero}`],
    ["limitBytes=0", "limitBytes", "Invalid value: 0: must be greater than 0"],
    ["sinceSeconds=0", "sinceSeconds", "Invalid value: 0: must be greater than 0"],
    [
      "sinceSeconds=1&sinceTime=2030-01-01T00:00:00Z",
      "[]",
      "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
    ],
    ["stream=Stdout", "stream", "Forbidden: may not be specified"],
  ];
  for (const [query, field, message] of rejected) {
    it(`rejects ${query} with a cause at ${field}`, () => {
      assert.throws(read(query), (error: unknown) => {
        assert.ok(error instanceof StatusError);
        const [cause] = error.status.details?.causes ?? [];
        assert.deepEqual([cause?.field, cause?.message], [field, message]);
        return error.status.code === 422;
      });
    });
  }

  it("rejects a malformed number with 400", () => {
    assert.throws(read("tailLines=x"), /strconv.ParseInt: parsing "x": invalid syntax/);
  });
});

import assert from "node:assert/strict";
import { StatusError } from "#meta";
import {
  bodyFormat,
  negotiate,
  negotiateDocument,
  negotiateFailure,
  type Offer,
  wantsPretty,
} from "./negotiation.ts";

const metaGroup = "meta.k8s.io";

function negotiated(accept: string | undefined, offer: Offer): string {
  try {
    const { format, as } = negotiate(accept, offer, metaGroup);
    return as === undefined ? format : `${format} ${as.kind} ${as.version}`;
  } catch (error) {
    assert(error instanceof StatusError);
    return `${error.code} ${error.message.split(/[\n:]/, 1)[0]}`;
  }
}

const table = "application/json;as=Table;g=meta.k8s.io;v=v1";
const onlyAcceptable = "only the following media types are accepted";

const cases: readonly (readonly [Offer, string | undefined, string])[] = [
  ["object", undefined, "json"],
  ["object", "", "json"],
  ["object", "*/*", "json"],
  ["object", "application/yaml", "yaml"],
  ["object", "application/yaml,application/json", "yaml"],
  ["object", "application/yaml;q=0.2,application/json;q=0.9", "json"],
  ["object", "text/html,*/*;q=0.8", "json"],
  ["object", "application/json;q=0", "json"],
  ["object", "application/json;stream=watch", "json"],
  ["object", "application/json;stream=other", `406 ${onlyAcceptable}`],
  ["object", "application/*", "406 406"],
  ["object", "Application/JSON", "406 406"],
  ["object", ",", "406 406"],
  ["object", "application/json;stream=", "json"],
  ["object", "application/json;sv=v1", "json"],
  ...["as=", "v=v1", "g=meta.k8s.io", "g=meta.k8s.io;v=v1", "as=Table;v=v1", "sv=v2"].map(
    (each) => ["object", `application/json;${each}`, `406 ${onlyAcceptable}`] as const,
  ),
  ["object", "application/json;v=v1,application/yaml", "yaml"],
  ["virtual", "application/json", "json"],
  ["virtual", table.replace("Table", "PartialObjectMetadata"), "json PartialObjectMetadata v1"],
  ["virtual", table, `406 ${onlyAcceptable}`],
  ["status", "application/json;stream=watch", "json"],
  ["status", "application/json;sv=v1", `406 ${onlyAcceptable}`],
  ["status", "application/json;g=meta.k8s.io", `406 ${onlyAcceptable}`],
  ["list", table, "json Table v1"],
  ["list", table.replace("v=v1", "v=v1beta1"), "json Table v1beta1"],
  ["list", table.replace("v=v1", "v=v9"), `406 ${onlyAcceptable}`],
  ["list", `${table.replace("v=v1", "v=v9")},application/json`, "json"],
  ["list", `application/json;q=0.1,${table};q=0.9`, "json Table v1"],
  ["list", `application/json,${table}`, "json"],
  ["watch", "application/yaml", `406 ${onlyAcceptable}`],
  ["watch", "application/vnd.kubernetes.protobuf", "protobuf"],
  ["watch", "application/json;q=0.1,application/yaml", `406 ${onlyAcceptable}`],
];

describe("negotiation", () => {
  for (const [offer, accept, expected] of cases) {
    it(`${offer} ${accept}`, () => assert.equal(negotiated(accept, offer), expected));
  }

  it("rejects Tables as Protobuf", () => {
    const accept = "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1";
    assert.match(negotiated(accept, "list"), /^406 only/);
  });

  it("accepts subtype wildcards for documents", () => {
    assert.equal(negotiateDocument("application/*").format, "json");
    assert.throws(() => negotiateDocument("text/html"), /only the following media types/);
  });

  it("encodes errors as JSON if no requested representation is available", () => {
    assert.equal(negotiateFailure("application/json;as=Table").format, "json");
    assert.equal(negotiateFailure("application/yaml").format, "yaml");
  });

  it("parses the Content-Type of bodies, and rejects others with 415", () => {
    assert.equal(bodyFormat(undefined), "json");
    assert.equal(bodyFormat("Application/JSON; charset=utf-8"), "json");
    assert.equal(bodyFormat("application/yaml"), "yaml");
    for (const wrong of ["text/plain", "application/json;;=", "application/merge-patch+json"]) {
      assert.throws(() => bodyFormat(wrong), { code: 415 });
    }
  });

  it("indents JSON for curl and for pretty=true", () => {
    assert.equal(wantsPretty(undefined, "curl/8"), true);
    assert.equal(wantsPretty("0", "curl/8"), false);
    assert.equal(wantsPretty("true", "kubectl"), true);
    assert.equal(wantsPretty(undefined, "kubectl"), false);
  });
});

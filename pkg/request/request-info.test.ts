import assert from "node:assert/strict";
import { parseRequestInfo, parseTarget, Query } from "./index.ts";

/** `verb group/version namespace resource/subresource name`, with - for "". */
function info(method: string, url: string): string {
  const target = parseTarget(url);
  if (target === undefined) return "malformed";
  const found = parseRequestInfo(method, target);
  if (!found.isResource) return `${found.verb} ${found.path}`;
  const { verb, group, version, namespace, resource, subresource, name } = found;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  return [verb, `${group}/${version}`, namespace || "-", what || "-", name || "-"].join(" ");
}

const table: readonly (readonly [request: string, parsed: string])[] = [
  ["GET /api/v1/namespaces/n/configmaps/a", "get /v1 n configmaps a"],
  ["GET /api/v1/namespaces/n/configmaps", "list /v1 n configmaps -"],
  ["GET /api/v1/namespaces/n/configmaps?watch=1", "watch /v1 n configmaps -"],
  ["GET /api/v1/namespaces/n/configmaps?watch=false", "list /v1 n configmaps -"],
  ["GET /api/v1/configmaps", "list /v1 - configmaps -"],
  ["POST /apis/apps/v1/namespaces/n/deployments", "create apps/v1 n deployments -"],
  ["PUT /apis/apps/v1/namespaces/n/deployments/d/scale", "update apps/v1 n deployments/scale d"],
  ["DELETE /api/v1/namespaces/n/configmaps", "deletecollection /v1 n configmaps -"],
  ["DELETE /api/v1/namespaces/n/configmaps/a", "delete /v1 n configmaps a"],
  ["GET /api/v1/namespaces/n", "get /v1 n namespaces n"],
  ["GET /api/v1/namespaces/n/status", "get /v1 n namespaces/status n"],
  ["PUT /api/v1/namespaces/n/finalize", "update /v1 n namespaces/finalize n"],
  ["GET /api/v1/watch/namespaces/n/configmaps", "watch /v1 n configmaps -"],
  ["GET /api/v1/watch/nodes/x", "watch /v1 - nodes x"],
  ["GET /api/v1/namespaces//configmaps", "list /v1 - configmaps -"],
  ["GET /api/v1/namespaces/n%2Fconfigmaps/a", "get /v1 n configmaps a"],
  ["GET /api/v1/namespaces/n/configmaps/a//", "get /v1 n configmaps a"],
  ["GET /api/v1/namespaces/n/configmaps//a", "list /v1 n configmaps/a -"],
  ["GET /api/v1/pods?fieldSelector=metadata.name%3Da", "list /v1 - pods a"],
  ["GET /api/v1/pods?fieldSelector=x%3D1,metadata.name%3D%3Da", "list /v1 - pods a"],
  ["GET /api/v1/pods?fieldSelector=metadata.name!%3Da", "list /v1 - pods -"],
  ["DELETE /api/v1/pods?fieldSelector=metadata.name%3Da", "deletecollection /v1 - pods -"],
  ["HEAD /healthz", "head /healthz"],
  ["GET /apis/apps/v1", "get /apis/apps/v1"],
  ["GET /api/v1", "get /api/v1"],
  ["GET http://host/version?x", "get /version"],
  ["GET /api/%zz", "malformed"],
  ["GET *", "malformed"],
];

describe("request info", () => {
  for (const [request, parsed] of table) {
    it(request, () => {
      const [method, url] = request.split(" ") as [string, string];
      assert.equal(info(method, url), parsed);
    });
  }
});

describe("query", () => {
  it("drops pairs with a semicolon or a malformed escape", () => {
    const query = Query.parse("a=1;b=2&c=%zz&d=%20+x&e");
    assert.deepEqual(
      ["a", "c", "d", "e"].map((name) => query.get(name)),
      [undefined, undefined, "  x", ""],
    );
  });

  it("treats anything but 0 and false as true", () => {
    const query = Query.parse("a&b=0&c=FALSE&d=maybe");
    const flags = ["a", "b", "c", "d", "e"].map((name) => query.flag(name));
    assert.deepEqual(flags, [true, false, false, true, undefined]);
  });

  it("decodes invalid UTF-8", () => {
    assert.equal(parseTarget("/a%ffb")?.path, "/a\ufffdb");
  });
});

/** What users do through kubectl with the kinds of a server behind this one. */
import assert from "node:assert/strict";
import { AggregatedKeelson, until } from "../integration/aggregation/aggregated-keelson.ts";
import { Kubectl } from "./kubectl.ts";

const widget = (name: string, size: number): string =>
  `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"${name}"},` +
  `"spec":{"size":${size}}}`;

describe("aggregated kinds through kubectl", () => {
  let pair: AggregatedKeelson;
  before(async function () {
    if (!Kubectl.isThere) return this.skip();
    pair = await AggregatedKeelson.start({ port: 0, controllers: false });
    await pair.register();
  });
  after(() => pair?.close());

  it("kubectl lists, explains, applies, gets, watches and deletes them", async () => {
    using kubectl = new Kubectl(pair.front.kubeconfig);
    const rows = await kubectl.ok("api-resources --api-group=example.com --no-headers");
    assert.match(rows, /^widgets +wd +example\.com\/v1 +true +Widget\n$/);
    await until(async () => {
      const { paths } = await pair.send("GET", "/openapi/v3");
      const { definitions } = await pair.send("GET", "/openapi/v2");
      return paths["apis/example.com/v1"] && definitions["com.example.v1.Widget"];
    });
    assert.match(await kubectl.ok("explain widgets.spec.size"), /Size in mm\./);
    assert.match(await kubectl.ok("apply -f -", widget("a", 3)), /widget\.example\.com\/a created/);
    assert.match(await kubectl.ok("apply -f -", widget("a", 3)), /unchanged/);
    assert.match(await kubectl.ok("apply -f -", widget("a", 4)), /configured/);
    const wrong = widget("b", 1).replace("size", "sise");
    assert.match((await kubectl.attempt("apply -f -", wrong)).error, /unknown field "spec.sise"/);
    assert.equal((await kubectl.json("get wd a")).spec.size, 4);
    using watch = kubectl.start("get wd -w --no-headers -o name");
    await watch.printed("widget.example.com/a");
    await kubectl.ok("delete wd a");
    await watch.printed("widget.example.com/a");
    assert.equal(await kubectl.ok("get wd -o name"), "");
    assert.match(await kubectl.ok("get apiservice v1.example.com"), /default\/widgets +True/);
  });
});

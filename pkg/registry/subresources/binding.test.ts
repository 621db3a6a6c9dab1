import assert from "node:assert/strict";
import { refusal, type TestRegistry, testRegistry } from "../testing.ts";

const pod = (name: string, spec: object = {}, metadata: object = {}) => ({
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "main", image: "a:1" }], ...spec },
});

describe("binding subresource", () => {
  let test: TestRegistry;
  beforeEach(async () => {
    test = await testRegistry();
    await test.post("v1/pods/ns", pod("p"));
  });
  const bind = (name: string, more: object = {}) =>
    test.post(`v1/pods/ns/${name}/binding`, {
      metadata: { name, ...more },
      target: { name: "node-1" },
    });

  it("assigns a pod to a node only once", async () => {
    const { item } = await bind("p", { annotations: { why: "fits" }, labels: { no: "no" } });
    assert.equal(item.object.status, "Success");
    const { metadata, spec, status } = (await test.get("v1/pods/ns/p")).object;
    assert.deepEqual(
      [spec.nodeName, metadata.annotations, metadata.labels],
      ["node-1", { why: "fits" }, undefined],
    );
    assert.deepEqual(
      status.conditions.map(({ type, status: value }: any) => [type, value]),
      [["PodScheduled", "True"]],
    );
    assert.match(await refusal(bind("p")), /^409 .*pod p is already assigned to node "node-1"/);
  });

  it("assigns nothing in a dry run, nor with another name or UID, nor without a node", async () => {
    const body = { metadata: { name: "p" }, target: { name: "n" } };
    await test.post("v1/pods/ns/p/binding", body, { dryRun: true });
    assert.equal((await test.get("v1/pods/ns/p")).object.spec.nodeName, undefined);
    const other = test.post("v1/pods/ns/q/binding", body);
    assert.match(await refusal(other), /^400 .*name in URL does not match/);
    assert.match(await refusal(bind("p", { uid: "other" })), /^409 .*UID in precondition: other/);
    const withoutNode = test.post("v1/bindings/ns", { metadata: { name: "p" } });
    assert.equal(await refusal(withoutNode), "500 - target.name: Required value");
  });

  it("ignores the uid of a binding that is posted to bindings", async () => {
    const metadata = { name: "p", uid: "other" };
    await test.post("v1/bindings/ns", { metadata, target: { name: "n" } });
    assert.equal((await test.get("v1/pods/ns/p")).object.spec.nodeName, "n");
  });

  it("accepts one of many concurrent bindings", async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        refusal(
          test.post("v1/bindings/ns", { metadata: { name: "p" }, target: { name: `n${n}` } }),
        ),
      ),
    );
    assert.equal(outcomes.filter((outcome) => outcome === "accepted").length, 1);
  });
});

import assert from "node:assert/strict";
import { parseIp } from "#base";
import type { Node } from "#kinds";
import { SimulatedNodes } from "./simulated-nodes.ts";

interface Described {
  readonly label?: string;
  readonly podCIDRs?: readonly string[];
  readonly published?: string;
}

function node(name: string, { label = "true", podCIDRs = [], published }: Described): Node {
  return {
    metadata: {
      name,
      uid: "",
      resourceVersion: "1",
      labels: { "simulated.keelson.dev/node": label },
      annotations: published === undefined ? {} : { "simulated.keelson.dev/pod-cidrs": published },
    },
    spec: { podCIDRs },
  };
}

describe("SimulatedNodes", () => {
  const nodes = new SimulatedNodes({ has: (name) => name === "own", podCidrs: ["10.9.0.0/24"] });
  const find = (address: string) => nodes.nodeWith(parseIp(address)!);
  nodes.set(node("a", { podCIDRs: ["10.1.0.0/24", "fd00:1::/64"] }));
  nodes.set(node("b", { published: "10.2.0.0/16, fd00:2::/64,invalid" }));
  nodes.set(node("c", { label: "false", podCIDRs: ["10.3.0.0/24"] }));

  it("finds the node in whose range an address is", () => {
    for (const [address, name] of [
      ["10.1.0.255", "a"],
      ["10.1.1.0", undefined],
      ["fd00:1::9", "a"],
      ["fd00:1:0:1::9", undefined],
      ["10.2.255.1", "b"],
      ["fd00:2::1", "b"],
      ["10.3.0.1", undefined],
      ["10.9.0.1", ""],
      ["192.0.2.1", undefined],
    ] as const) {
      assert.equal(find(address), name, address);
    }
  });

  it("knows the nodes by name, those of the process without the API", () => {
    assert.deepEqual(
      ["a", "b", "c", "own", ""].map((name) => nodes.has(name)),
      [true, true, false, true, false],
    );
  });

  it("follows changes, and keeps a range that two nodes have", () => {
    nodes.set(node("d", { podCIDRs: ["10.4.0.0/24"] }));
    nodes.set(node("e", { podCIDRs: ["10.4.0.0/24"] }));
    nodes.set(node("d", { label: "", podCIDRs: ["10.4.0.0/24"] }));
    assert.equal(find("10.4.0.1"), "e");
    nodes.set(node("e", { podCIDRs: ["10.5.0.0/24"] }));
    assert.equal(find("10.4.0.1"), undefined);
    assert.equal(find("10.5.0.1"), "e");
  });
});

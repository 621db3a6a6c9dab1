import assert from "node:assert/strict";
import { seededRandom } from "#base";
import { AddressRange } from "./address-range.ts";
import { PortSet } from "./port-set.ts";
import type { ServiceNetwork } from "../contract.ts";
const network: ServiceNetwork = {
  cidrs: ["10.0.0.0/24"],
  nodePorts: { first: 30_000, last: 32_767 },
};

describe("address and port ranges", () => {
  it("leaves out the ends of a network and keeps a lower band", () => {
    const small = AddressRange.parse("10.0.0.0/24")!;
    assert.deepEqual([small.count, small.lower], [254, 16]);
    assert.deepEqual(
      [0, 15, 16].map((n) => small.at(n)),
      ["10.0.0.1", "10.0.0.16", "10.0.0.17"],
    );
    assert.equal(small.at(253), "10.0.0.254");
    assert.deepEqual(
      ["10.0.0.0", "10.0.0.1", "10.0.0.254", "10.0.0.255", "10.0.1.1", "fd00::1"].map((address) =>
        small.contains(address),
      ),
      [false, true, true, false, false, false],
    );
    assert.deepEqual(
      ["::ffff:10.0.0.1", "::ffff:10.0.0.255"].map((address) => small.contains(address)),
      [true, false],
    );
    assert.equal(AddressRange.parse("10.0.0.0/16")!.lower, 256);
    assert.equal(AddressRange.parse("10.0.0.0/29")!.lower, 0);
    const wide = AddressRange.parse("fd00:1:2::/64")!;
    assert.deepEqual([wide.family, wide.at(0), wide.lower], ["IPv6", "fd00:1:2::1", 256]);
  });

  it("stores ports as one big integer", () => {
    const set = PortSet.empty(network.nodePorts);
    set.add(30_000);
    set.add(30_009);
    assert.equal(set.data(), Buffer.from([2, 1]).toString("base64"));
    const same = PortSet.stored(network.nodePorts, { range: "30000-32767", data: set.data() });
    assert.deepEqual(same.ports(), [30_000, 30_009]);
    const other = { first: 30_005, last: 30_100 };
    const moved = PortSet.stored(other, { range: "30000-32767", data: set.data() });
    assert.deepEqual(moved.ports(), [30_009]);
  });

  it("prefers the upper band and uses the lower when that is full", () => {
    const random = seededRandom(3);
    const set = PortSet.empty({ first: 1, last: 40 });
    const order = Array.from({ length: 40 }, () => {
      const port = set.free(random.below)!;
      set.add(port);
      return port;
    });
    assert.ok(
      order.slice(0, 24).every((port) => port > 16),
      String(order),
    );
    assert.deepEqual(
      [...order].sort((a, b) => a - b),
      Array.from({ length: 40 }, (_, i) => i + 1),
    );
    assert.equal(set.free(random.below), undefined);
  });
});

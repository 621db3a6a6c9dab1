import assert from "node:assert/strict";
import { type Cidr, parseCidr, seededRandom } from "#base";
import { CidrSet } from "./cidr-set.ts";
import { parseNodeIpam } from "./node-ipam-settings.ts";

const cidr = (text: string): Cidr => parseCidr(text)!;
const set = (cluster: string, prefix: number) => new CidrSet(cidr(cluster), prefix);

const take = (from: CidrSet, count: number) => Array.from({ length: count }, () => from.allocate());

describe("CidrSet", () => {
  it("allocates CIDRs in order, and wraps around at the end", () => {
    const networks = set("10.244.0.0/22", 24);
    const all = ["10.244.0.0/24", "10.244.1.0/24", "10.244.2.0/24", "10.244.3.0/24"];
    assert.deepEqual(take(networks, 5), [...all, undefined]);
    networks.release(cidr("10.244.1.0/24"));
    networks.release(cidr("10.244.0.0/24"));
    assert.deepEqual(take(networks, 3), ["10.244.0.0/24", "10.244.1.0/24", undefined]);
  });

  it("allocates IPv6 CIDRs, at most 2^16", () => {
    assert.deepEqual(take(set("fd00:1234::/48", 64), 2), ["fd00:1234::/64", "fd00:1234:0:1::/64"]);
    assert.deepEqual(take(set("fd00::/112", 120), 2), ["fd00::/120", "fd00::100/120"]);
    assert.throws(() => set("fd00::/32", 64), RangeError);
    assert.throws(() => set("10.0.0.0/16", 8), RangeError);
  });

  it("skips allocated and reserved CIDRs", () => {
    const networks = set("10.0.0.0/16", 24);
    networks.reserve(cidr("10.0.0.0/23"));
    networks.occupy(cidr("10.0.2.0/24"));
    networks.occupy(cidr("10.0.3.128/25"));
    assert.equal(networks.allocate(), "10.0.4.0/24");
    networks.release(cidr("10.0.0.0/24"));
    assert.equal(networks.usage, 5 / 256);
    assert.throws(() => networks.occupy(cidr("10.1.0.0/24")), /out the range of cluster cidr/);
    networks.reserve(cidr("10.0.0.0/8"));
    assert.equal(networks.allocate(), undefined);
  });

  it("never allocates a CIDR twice", () => {
    const random = seededRandom("networks");
    const networks = set("10.0.0.0/24", 28);
    networks.reserve(cidr("10.0.0.32/27"));
    const held = new Set<string>();
    for (let round = 0; round < 2_000; round++) {
      if (held.size > 0 && random.below(2) === 0) {
        const gone = random.pick([...held]);
        held.delete(gone);
        networks.release(cidr(gone));
        continue;
      }
      const network = networks.allocate();
      assert.equal(network === undefined, held.size === 14);
      if (network === undefined) continue;
      assert.ok(!held.has(network), network);
      held.add(network);
    }
  });
});

describe("parseNodeIpam", () => {
  const none = { serviceRange: "", maskSize: 0, maskSizeIpv4: 0, maskSizeIpv6: 0 };
  const prefixes = (flags: object) =>
    parseNodeIpam({ clusterCidr: "", ...none, ...flags }).clusterNetworks.map(
      ({ nodePrefix }) => nodePrefix,
    );

  it("defaults to prefix lengths of 24 and 64 bits", () => {
    assert.deepEqual(prefixes({ clusterCidr: "10.0.0.0/8" }), [24]);
    assert.deepEqual(prefixes({ clusterCidr: "fd00::/48, 10.0.0.0/8" }), [64, 24]);
    assert.deepEqual(prefixes({ clusterCidr: "10.0.0.0/8", maskSize: 26 }), [26]);
    const both = { clusterCidr: "10.0.0.0/8,fd00::/48", maskSizeIpv4: 25, maskSizeIpv6: 56 };
    assert.deepEqual(prefixes(both), [25, 56]);
  });

  it("rejects CIDRs and prefix lengths that do not match", () => {
    for (const flags of [
      {},
      { clusterCidr: "10.0.0.0" },
      { clusterCidr: "10.0.0.0/8,11.0.0.0/8" },
      { clusterCidr: "10.0.0.0/8,fd00::/48", maskSize: 24 },
      { clusterCidr: "10.0.0.0/8", maskSize: 24, maskSizeIpv4: 25 },
      { clusterCidr: "10.0.0.0/8", maskSizeIpv6: 64 },
      { clusterCidr: "fd00::/48", maskSizeIpv4: 24 },
      { clusterCidr: "10.0.0.0/26" },
    ]) {
      assert.throws(() => prefixes(flags), RangeError, JSON.stringify(flags));
    }
  });
});

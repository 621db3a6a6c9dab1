import assert from "node:assert/strict";
import { cidrContains, maskedIp, parseCidr, parseStrictCidr } from "./cidr.ts";
import { formatIp, parseIp } from "./ip-address.ts";

const masked = (text: string): string | undefined => {
  const cidr = parseCidr(text);
  return cidr && `${formatIp(maskedIp(cidr))}/${cidr.prefix}`;
};

const contains = (network: string, address: string): boolean => {
  const cidr = parseCidr(network);
  const bytes = parseIp(address);
  assert.ok(cidr && bytes, `${network} ${address}`);
  return cidrContains(cidr, bytes);
};

describe("cidr", () => {
  it("parses CIDRs and clears the bits beyond the prefix", () => {
    assert.equal(masked("10.1.2.3/8"), "10.0.0.0/8");
    assert.equal(masked("10.1.2.255/25"), "10.1.2.128/25");
    assert.equal(masked("10.1.2.3/32"), "10.1.2.3/32");
    assert.equal(masked("10.1.2.3/0"), "0.0.0.0/0");
    assert.equal(masked("2001:db8:ffff::1/33"), "2001:db8:8000::/33");
    assert.equal(masked("2001:db8::1/128"), "2001:db8::1/128");
  });

  it("accepts leading zeros in address and prefix length, unless strict", () => {
    for (const text of ["010.0.0.0/8", "10.0.0.0/08", "::ffff:010.0.0.0/104"]) {
      assert.ok(parseCidr(text), text);
      assert.equal(parseStrictCidr(text), undefined, text);
    }
    assert.ok(parseStrictCidr("10.0.0.0/0"));
  });

  it("rejects anything else", () => {
    const texts =
      "10.0.0.0 10.0.0.0/ 10.0.0.0/33 ::/129 10.0.0.0/-1 10.0.0.0/+8 10.0.0.0/8/8 /8 10/8 x/8 " +
      "10.0.0.0/8x 10.0.0.0/255.0.0.0 fe80::%eth0/64";
    for (const text of texts.split(" ")) {
      assert.equal(parseCidr(text), undefined, text);
      assert.equal(parseStrictCidr(text), undefined, text);
    }
  });

  it("contains addresses of its own family only", () => {
    assert.ok(contains("10.0.0.0/8", "10.255.255.255"));
    assert.ok(contains("10.9.0.0/8", "10.0.0.1"));
    assert.ok(!contains("10.0.0.0/8", "11.0.0.0"));
    assert.ok(contains("2001:db8::/33", "2001:db8:7fff::"));
    assert.ok(!contains("2001:db8::/33", "2001:db8:8000::"));
    assert.ok(!contains("::/0", "10.0.0.1"));
    assert.ok(!contains("0.0.0.0/0", "::1"));
  });
});

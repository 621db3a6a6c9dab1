import assert from "node:assert/strict";
import {
  formatIp,
  isGlobalUnicast,
  isIpv4Mapped,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  isUnspecified,
  parseIp,
  parseStrictIp,
} from "./ip-address.ts";

/** Text and its canonical form: what both parsers read. */
const addresses: readonly (readonly [string, string])[] = [
  ["0.0.0.0", "0.0.0.0"],
  ["255.255.255.255", "255.255.255.255"],
  ["::", "::"],
  ["::1", "::1"],
  ["1::", "1::"],
  ["0:0:0:0:0:0:0:1", "::1"],
  ["2001:DB8::00ff", "2001:db8::ff"],
  ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
  ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
  ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["::FFFF:c000:201", "192.0.2.1"],
  ["64:ff9b::192.0.2.33", "64:ff9b::c000:221"],
  ["1:2:3:4:5:6:192.0.2.33", "1:2:3:4:5:6:c000:221"],
];

const leadingZeros: readonly (readonly [string, string])[] = [
  ["010.002.003.004", "10.2.3.4"],
  ["0000000127.0.0.1", "127.0.0.1"],
  ["127.0.0.01", "127.0.0.1"],
  ["::ffff:010.0.0.1", "10.0.0.1"],
];

const neither: readonly string[] = [
  "",
  " 1.2.3.4",
  "1.2.3.4 ",
  "1.2.3",
  "1.2.3.4.5",
  "1.2.3.256",
  "1.2.3.-4",
  "1.2.3.+4",
  "1.2.3.0x4",
  "1.2.3.1e1",
  "0x7f.1",
  "2130706433",
  "localhost",
  ":",
  ":::",
  "1::2::3",
  ":1:2:3:4:5:6:7",
  "1:2:3:4:5:6:7",
  "1:2:3:4:5:6:7:8:9",
  "1:2:3:4::5:6:7:8",
  "12345::",
  "::g",
  "1.2.3.4::",
  "::1.2.3.4:5",
  "1:2:3:4:5:6:7:1.2.3.4",
  "::1.2.3.256",
  "[::1]",
  "fe80::1%eth0",
  "::ffff:1.2.3.4%eth0",
  "١.2.3.4",
];

const format = (text: string, parse: typeof parseIp): string | undefined => {
  const address = parse(text);
  return address && formatIp(address);
};

describe("ip-address", () => {
  it("parses addresses and prints their canonical form", () => {
    for (const [text, canonical] of addresses) {
      assert.equal(format(text, parseIp), canonical, text);
      assert.equal(format(text, parseStrictIp), canonical, text);
    }
  });

  it("parses leading zeros as decimal, unless strict", () => {
    for (const [text, canonical] of leadingZeros) {
      assert.equal(format(text, parseIp), canonical, text);
      assert.equal(parseStrictIp(text), undefined, text);
    }
  });

  it("rejects anything else, zones included", () => {
    for (const text of neither) {
      assert.equal(parseIp(text), undefined, text);
      assert.equal(parseStrictIp(text), undefined, text);
    }
  });

  it("returns the bytes of both families", () => {
    assert.deepEqual(parseIp("192.0.2.1"), [192, 0, 2, 1]);
    assert.deepEqual(
      parseIp("::ffff:192.0.2.1"),
      [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 192, 0, 2, 1],
    );
  });

  it("classifies addresses, IPv4-mapped ones as IPv4", () => {
    const classes = {
      unspecified: isUnspecified,
      loopback: isLoopback,
      linkLocalUnicast: isLinkLocalUnicast,
      linkLocalMulticast: isLinkLocalMulticast,
      globalUnicast: isGlobalUnicast,
    };
    const table: Readonly<Record<string, readonly string[]>> = {
      "0.0.0.0": ["unspecified"],
      "::": ["unspecified"],
      "::ffff:0.0.0.0": ["unspecified"],
      "127.255.0.1": ["loopback"],
      "::1": ["loopback"],
      "::ffff:127.0.0.1": ["loopback"],
      "::ffff:7f00:1": ["loopback"],
      "169.254.169.254": ["linkLocalUnicast"],
      "::ffff:a9fe:a9fe": ["linkLocalUnicast"],
      "fe80::1": ["linkLocalUnicast"],
      "febf::1": ["linkLocalUnicast"],
      "224.0.0.1": ["linkLocalMulticast"],
      "ff02::1": ["linkLocalMulticast"],
      "ff12::1": ["linkLocalMulticast"],
      "224.0.1.1": [],
      "239.255.255.255": [],
      "ff05::2": [],
      "255.255.255.255": [],
      "10.0.0.1": ["globalUnicast"],
      "fec0::1": ["globalUnicast"],
      "fd00::1": ["globalUnicast"],
      "::2": ["globalUnicast"],
      "1::1": ["globalUnicast"],
    };
    for (const [text, expected] of Object.entries(table)) {
      const address = parseIp(text) ?? [];
      const found = Object.entries(classes).filter(([, isMember]) => isMember(address));
      assert.deepEqual(
        found.map(([name]) => name),
        expected,
        text,
      );
    }
  });

  it("detects IPv4-mapped addresses", () => {
    const mapped = (text: string) => isIpv4Mapped(parseIp(text) ?? []);
    assert.deepEqual(
      ["::ffff:1.2.3.4", "::ffff:0:0", "1.2.3.4", "::1.2.3.4", "::fffe:1.2.3.4"].map(mapped),
      [true, true, false, false, false],
    );
  });
});

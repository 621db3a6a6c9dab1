import assert from "node:assert/strict";
import { seededRandom } from "#base";
import { Quantity, QuantityFault } from "./quantity.ts";

/** `written canonical`, or the text alone where it stays as it is. */
const kept = `
1Ki | 1024Ki 1Mi | 1.5Gi 1536Mi | 0.5Mi 512Ki | 1000Ki | 2Ti | 1Ei | 0.1Gi 107374182400m
1k | 1000k 1M | 1.5G 1500M | 1500 | 123456789 | 1000000 1M | 0 | 00 0 | 010 | +5M | 1E
1e3 | 1E3 | 12e6 | 1.5e9 1500e6 | 1e-3 | 15e-1 1500e-3 | 1e0 | 1e1 10 | 1.25e1 12500e-3
100e18 | .5 500m | 5. | 1000m 1 | 1.0 1 | 1n | 0.0000000001 1n | -1.5 -1500m | m 0 | . 0 | + 0
8Ei 9223372036854775807 | 10Ei 9223372036854775807 | 9223372036854775808
9223372036854775807000 9223372036854775807k | 99999999999999999999999
`;

const wrongForm = "quantities must match the regular expression";
const wrongSuffix = "unable to parse quantity's suffix";
const refused: readonly (readonly [string, string])[] = [
  ["", wrongForm],
  ["1 Gi", wrongForm],
  ["1GB", wrongForm],
  ["abc", wrongForm],
  ["0x10", wrongForm],
  ["1.2.3", wrongForm],
  ["1,5", wrongForm],
  ["1E1.5", wrongForm],
  ["\uff11", wrongForm],
  ["1ki", wrongSuffix],
  ["--1", wrongSuffix],
  ["1e", wrongSuffix],
  ["1Mi2", wrongSuffix],
  ["1K", wrongSuffix],
];

function compareTexts(a: string, b: string): number {
  return Quantity.parse(a).compare(Quantity.parse(b));
}

describe("Quantity", () => {
  for (const row of kept.trim().split(/\n| \| /)) {
    const [written = "", canonical = written] = row.trim().split(" ");
    it(`prints ${written} as ${canonical}`, () => {
      assert.equal(Quantity.parse(written).toString(), canonical);
    });
  }

  for (const [text, message] of refused) {
    it(`rejects ${JSON.stringify(text)}: ${message}`, () => {
      assert.throws(
        () => Quantity.parse(text),
        (fault) => fault instanceof QuantityFault && fault.message.startsWith(message),
      );
    });
  }

  it("handles huge exponents and digit counts in constant time", () => {
    for (const text of ["1e999999999999", "1E-999999999", `${"9".repeat(1_000_000)}`]) {
      assert.throws(() => Quantity.parse(text), QuantityFault);
    }
    assert.equal(Quantity.parse("1e1000").compare(Quantity.parse("1")), 1);
  });

  it("compares amounts, not formats", () => {
    assert.equal(compareTexts("1", "1000m"), 0);
    assert.equal(compareTexts("1Gi", "1073741824"), 0);
    assert.equal(compareTexts("1G", "1Gi"), -1);
    assert.equal(compareTexts("-1", "-2"), 1);
  });

  it("rounds away from zero", () => {
    assert.equal(Quantity.parse("1.0001").roundUp(-3).toString(), "1001m");
    assert.equal(Quantity.parse("1u").roundUp(-3).toString(), "1m");
    assert.equal(Quantity.parse("-1u").roundUp(-3).toString(), "-1m");
    assert.equal(Quantity.parse("010").roundUp(-3).toString(), "010");
    assert.equal(Quantity.parse("1500m").value(), 2n);
    assert.equal(Quantity.parse("1.5").milliValue(), 1500n);
  });

  it("keeps the format of the first term in a sum, unless it is zero", () => {
    assert.equal(Quantity.parse("1Gi").add(Quantity.parse("1G")).toString(), "2073741824");
    assert.equal(Quantity.parse("512Mi").add(Quantity.parse("512Mi")).toString(), "1Gi");
    assert.equal(Quantity.zero.add(Quantity.parse("1024Ki")).toString(), "1Mi");
    assert.equal(Quantity.parse("1").subtract(Quantity.parse("250m")).toString(), "750m");
  });

  it("parses what it prints, and subtracts what it added", () => {
    const random = seededRandom(20_260_101);
    const suffixes = ["", "m", "u", "n", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "e-4", "E2"];
    const arbitrary = (): Quantity => {
      const digits = Math.floor(random.next() * 10 ** Math.floor(random.next() * 12));
      const fraction = random.next() < 0.5 ? "" : `.${Math.floor(random.next() * 1000)}`;
      const suffix = suffixes[Math.floor(random.next() * suffixes.length)] ?? "";
      return Quantity.parse(`${random.next() < 0.2 ? "-" : ""}${digits}${fraction}${suffix}`);
    };
    for (let run = 0; run < 2_000; run++) {
      const quantity = arbitrary();
      const other = arbitrary();
      const again = Quantity.parse(quantity.toString());
      assert.ok(again.equals(quantity), quantity.toString());
      assert.equal(again.toString(), quantity.toString());
      assert.ok(quantity.add(other).subtract(other).equals(quantity));
      assert.equal(quantity.compare(other), -other.compare(quantity) + 0);
    }
  });
});

import assert from "node:assert/strict";
import { formatCheck } from "./formats.ts";

/** Format, texts that have it, texts that have not. */
const table: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ["bsonobjectid", ["507f1f77bcf86cd799439011"], ["507f", "x07f1f77bcf86cd799439011"]],
  [
    "uri",
    ["https://a.example:1/b?c#d", "mailto:a@b", "/path", "http://[::1]:80/"],
    ["", "example.com", "a b:c", "http://a:b/", "/%zz"],
  ],
  [
    "email",
    ["a@b", "a.b+c@x.example", "Ann <a@b>", '"A, B" <a@b>', '"q q"@b', "a@b (home)", "<a@b>"],
    ["", "a at b", "a@", "@b", "a..b@c", "a@b, c@d", "Ann <a@b", "a@b)"],
  ],
  ["hostname", ["a", "example.com", "a-b.example.com"], ["a_b", "-a", "1.2.3.4", "a..b", ""]],
  ["ipv4", ["1.2.3.4", "010.0.0.1", "::ffff:1.2.3.4"], ["1.2.3.256", "::1", "1.2.3"]],
  ["ipv6", ["::1", "2001:db8::", "::ffff:1.2.3.4"], ["1.2.3.4", "::g", "fe80::1%eth0"]],
  ["cidr", ["10.0.0.7/8", "2001:db8::/32"], ["10.0.0.0/33", "10.0.0.0", "::/129", "x/8"]],
  [
    "mac",
    ["00:00:5e:00:53:01", "00-00-5E-00-53-01", "0000.5e00.5301", "02:00:5e:10:00:00:00:01"],
    ["00005e005301", "00:00:5e:00:53", "00:00-5e:00:53:01"],
  ],
  ["uuid", ["123E4567-e89b-12d3-a456-426614174000"], ["123e4567"]],
  ["uuid3", ["123e4567-e89b-32d3-a456-426614174000"], ["123e4567-e89b-42d3-a456-426614174000"]],
  ["uuid4", ["123e4567-e89b-42d3-a456-426614174000"], ["123e4567-e89b-42d3-7456-426614174000"]],
  ["isbn10", ["0-306-40615-2", "080442957X"], ["0306406153"]],
  ["isbn13", ["978-0-306-40615-7"], ["9780306406158"]],
  ["isbn", ["0306406152", "9780306406157"], ["1"]],
  ["creditcard", ["4111 1111 1111 1111"], ["4111111111111112", "1111111111111111"]],
  ["ssn", ["123-45-6789", "123 45 6789"], ["123456789", "12-345-6789"]],
  ["hexcolor", ["#fff", "ABCDEF"], ["#ffff"]],
  ["rgbcolor", ["rgb(0, 128,255)"], ["rgb(256,0,0)", "rgb(0,0)"]],
  ["byte", ["aGVsbG8=", "AAAA"], ["", "aGVsbG8", "a-_=", "A==="]],
  ["password", ["", "anything"], []],
  ["date", ["2024-02-29"], ["2023-02-29", "2024-13-01", "29.02.2024", "0000-00-00"]],
  [
    "date-time",
    ["2024-02-29T12:00:00Z", "2024-02-29t12:00:00.5+02:00"],
    ["2024-02-29 12:00:00", "2024-02-29T24:00:00Z", "2024-02-29T12:00Z"],
  ],
  ["duration", ["1h30m", "5 days", "3w", "-1.5s"], ["soon", "", "5", "99999999999999999999d"]],
];

describe("string formats", () => {
  for (const [name, good, bad] of table) {
    it(name, () => {
      const check = formatCheck(name);
      assert.ok(check !== undefined);
      for (const text of good) assert.ok(check(text), `${name} should take ${text}`);
      for (const text of bad) assert.ok(!check(text), `${name} should refuse ${text}`);
    });
  }

  it("are limited to these", () => {
    // Both are new in Kubernetes 1.34 and enforced from the next minor version on.
    assert.equal(formatCheck("k8s-short-name"), undefined);
    assert.equal(formatCheck("k8s-long-name"), undefined);
    assert.equal(formatCheck("int32"), undefined);
    assert.equal(formatCheck("toString"), undefined);
  });

  it("are checked in linear time", () => {
    const long = `${"a".repeat(200_000)}!`;
    for (const [name] of table) formatCheck(name)?.(long);
    formatCheck("email")?.(`${"a ".repeat(4_000)}<`);
  });
});

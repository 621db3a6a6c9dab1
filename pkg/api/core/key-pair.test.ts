import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { keyPairFault } from "./key-pair.ts";

const key = generateKeyPairSync("ec", { namedCurve: "P-256" })
  .privateKey.export({ type: "pkcs8", format: "pem" })
  .toString();
const block = (type: string) => `-----BEGIN ${type}-----\nAA==\n-----END ${type}-----\n`;

describe("key pairs", () => {
  const rows: readonly (readonly [string, string, string])[] = [
    ["", "", "tls: failed to find any PEM data in certificate input"],
    [block("CERTIFICATE"), "x", "tls: failed to find any PEM data in key input"],
    [
      key,
      key,
      "tls: failed to find certificate PEM data in certificate input, but did find a private " +
        "key; PEM inputs may have been switched",
    ],
    [
      block("CERTIFICATE"),
      block("CERTIFICATE"),
      "tls: found a certificate rather than a key in the PEM for the private key",
    ],
    [
      block("X") + block("Y"),
      key,
      'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM ' +
        "blocks of the following types: [X Y]",
    ],
    [block("CERTIFICATE"), key, "x509: malformed certificate"],
  ];
  for (const [certificate, privateKey, fault] of rows) {
    it(fault, () => assert.equal(keyPairFault(certificate, privateKey), fault));
  }
});

import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { created, type Sketch, updated } from "../testing.ts";
import { certificateSigningRequest } from "./certificate-signing-request.ts";
import { clusterTrustBundle } from "./cluster-trust-bundle.ts";
import { readElements } from "./der.ts";
import { pemBlocks } from "./pem.ts";
import { parseRequest } from "./pkcs10.ts";
import { podCertificateRequest } from "./pod-certificate-request.ts";

/** A certificate request on P-256 of `O=devs, CN=alice`. */
const request = [
  "-----BEGIN CERTIFICATE REQUEST-----",
  ...der()
    .toString("base64")
    .match(/.{1,64}/g)!,
  "-----END CERTIFICATE REQUEST-----",
  "",
].join("\n");

function element(tag: number, ...content: Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  const length = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

function der(): Buffer {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const attribute = (id: number, text: string) =>
    element(
      0x31,
      element(0x30, element(6, Buffer.from([0x55, 4, id])), element(12, Buffer.from(text))),
    );
  const subject = element(0x30, attribute(10, "devs"), attribute(3, "alice"));
  const version = element(2, Buffer.from([0]));
  const key = publicKey.export({ type: "spki", format: "der" });
  const info = element(0x30, version, subject, key, element(0xa0));
  const algorithm = element(0x30, element(6, Buffer.from("2a8648ce3d040302", "hex")));
  const bits = element(3, Buffer.from([0]), sign("sha256", info, privateKey));
  return element(0x30, info, algorithm, bits);
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

describe("certificate requests", () => {
  it("contain the organizations and common name of the subject", () => {
    const who = { organizations: ["devs"], commonName: "alice" };
    assert.deepEqual(parseRequest(request), { ...who, signatureFault: undefined });
  });
  it("must be signed by the key that they contain", () => {
    const bytes = Buffer.from(pemBlocks(request)[0]?.bytes ?? []);
    const at = bytes.indexOf("alice");
    bytes.write("mally", at);
    const changed = request.replace(
      /-----\n[^]*\n-----END/,
      `-----\n${bytes.toString("base64")}\n-----END`,
    );
    const parsed = parseRequest(changed);
    assert.equal(
      "signatureFault" in parsed && parsed.signatureFault,
      "x509: ECDSA verification failure",
    );
  });
  it("must be PEM blocks of type CERTIFICATE REQUEST", () => {
    const fault = { fault: "PEM block type must be CERTIFICATE REQUEST" };
    assert.deepEqual(parseRequest(""), fault);
    assert.deepEqual(parseRequest(request.replaceAll(" REQUEST", "")), fault);
    const cut = request.replace(/\n.*\n-----END/, "\n-----END");
    assert.deepEqual(parseRequest(cut), { fault: "asn1: syntax error: data truncated" });
  });
  it("reject truncated encodings", () => {
    assert.equal(readElements(Buffer.from([0x30, 5, 1])), undefined);
    assert.equal(readElements(Buffer.from([0x30, 0x81, 5, 1, 2, 3, 4, 5])), undefined);
  });
});

describe("CertificateSigningRequest", () => {
  const spec = {
    request: base64(request),
    signerName: "example.com/signer",
    usages: ["client auth"],
  };
  const make = (rest: Sketch = {}) =>
    created(certificateSigningRequest, { spec: { ...spec, ...rest } });
  const rows: readonly (readonly [Sketch, readonly string[]])[] = [
    [{}, []],
    [
      { signerName: "kubernetes.io/legacy-unknown" },
      [
        'Invalid spec.signerName = "kubernetes.io/legacy-unknown": the legacy signerName is not ' +
          "allowed via this API version",
      ],
    ],
    [{ usages: [] }, ["Required spec.usages"]],
    [
      { expirationSeconds: 599 },
      [
        "Invalid spec.expirationSeconds = 599: may not specify a duration less than 600 seconds " +
          "(10 minutes)",
      ],
    ],
  ];
  for (const [rest, expected] of rows) {
    it(JSON.stringify(rest), () => assert.deepEqual(make(rest).complaints, expected));
  }
  const write = (subresource: string, status: Sketch, old = make()) =>
    updated(certificateSigningRequest, old, { spec, status }, { subresource });
  const approved = { type: "Approved", status: "True" };

  it("replaces user fields of the client", () => {
    assert.equal(make({ username: "mallory", groups: ["g"] }).object.spec.username, undefined);
  });
  it("is approved through one subresource and signed through another", () => {
    const { object, complaints } = write("approval", { conditions: [approved] });
    assert.deepEqual(complaints, []);
    assert.equal(object.status.conditions[0].lastTransitionTime, "1970-01-01T00:00:00Z");
    assert.deepEqual(write("status", { conditions: [approved] }).complaints, [
      'Forbidden status.conditions: updates may not add a condition of type "Approved"',
    ]);
    assert.equal(write("approval", { certificate: "eA==" }).object.status.certificate, undefined);
    assert.deepEqual(write("status", { certificate: base64("x") }).complaints, [
      'Invalid status.certificate = "<certificate data>": must contain at least one CERTIFICATE ' +
        "PEM block",
    ]);
  });
  it("rejects changes of the decision", () => {
    const old = write("approval", { conditions: [approved] });
    assert.deepEqual(write("approval", {}, old).complaints, [
      'Forbidden status.conditions: updates may not remove a condition of type "Approved"',
    ]);
    const denied = { type: "Denied", status: "True" };
    assert.deepEqual(write("approval", { conditions: [approved, denied] }, old).complaints, [
      'Invalid status.conditions = "Denied": Approved and Denied conditions are mutually exclusive',
    ]);
    assert.equal(certificateSigningRequest.row(old.object, { now: 0 })[5], "Approved");
  });
});

describe("ClusterTrustBundle", () => {
  const complaints = (name: string, spec: Sketch) =>
    created(clusterTrustBundle, { metadata: { name }, spec }).complaints;
  it("requires the signer name as prefix of the name", () => {
    const spec = { signerName: "example.com/a" };
    const none =
      'Invalid spec.trustBundle = "<value omitted>": at least one trust anchor must be ' +
      "provided";
    assert.deepEqual(complaints("example.com:a:x", spec), [none]);
    const what = "ClusterTrustBundle for signerName example.com/a";
    assert.deepEqual(complaints("x", spec), [
      `Invalid metadata.name = "x": ${what} must be named with prefix example.com:a:`,
      none,
    ]);
  });
  it("rejects other PEM blocks than certificates", () => {
    assert.deepEqual(complaints("x", { trustBundle: request }), [
      'Invalid spec.trustBundle = "<value omitted>": entry 0 has bad block type: CERTIFICATE ' +
        "REQUEST",
    ]);
  });
});

describe("PodCertificateRequest", () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const spec = (proof: string) => ({
    signerName: "example.com/a",
    podName: "p",
    podUID: "pu",
    serviceAccountName: "s",
    serviceAccountUID: "su",
    nodeName: "n",
    nodeUID: "nu",
    pkixPublicKey: publicKey.export({ type: "spki", format: "der" }).toString("base64"),
    proofOfPossession: sign(null, Buffer.from(proof), privateKey).toString("base64"),
  });
  const complaints = (sketch: Sketch) =>
    created(podCertificateRequest, { spec: sketch }).complaints;
  it("requires a proof of possession of the key", () => {
    assert.deepEqual(complaints(spec("pu")), []);
    assert.deepEqual(complaints(spec("another")), [
      'Invalid spec.proofOfPossession = "<value omitted>": could not verify proof-of-possession ' +
        "signature",
    ]);
  });
  it("is limited to a day with signers of Kubernetes", () => {
    const long = { ...spec("pu"), maxExpirationSeconds: 90_000 };
    assert.deepEqual(complaints(long), []);
    assert.deepEqual(complaints({ ...long, signerName: "kubernetes.io/a" }), [
      "Invalid spec.maxExpirationSeconds = 90000: must be in the range [3600, 86400]",
    ]);
  });
});

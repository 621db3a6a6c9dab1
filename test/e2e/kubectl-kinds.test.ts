/** What a stock kubectl does with one object of every kind. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseYaml } from "#meta";
import { root } from "../tidy/source.ts";
import { type RunningServer, startServer } from "../../cmd/keelson/index.ts";
import { Kubectl } from "./kubectl.ts";

const file = path.join(root, "test/e2e/every-kind.yaml");

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

const manifests = readFileSync(file, "utf8")
  .split(/^---$/m)
  .map((text) => parseYaml(text).value as Manifest);

/** Needs a request that openssl makes; another group's view; made by the manifests. */
const elsewhere = [
  "certificates.k8s.io/v1 CertificateSigningRequest",
  "events.k8s.io/v1 Event",
  "example.com/v1 Widget",
];

/** In which kubectl before 1.34 describes some kinds. */
const olderVersions = new Map([
  ["networking.k8s.io/v1beta1", "true"],
  ["storage.k8s.io/v1beta1", "true"],
]);

/** Commands at the same time. */
const concurrency = 4;

describe("kubectl, one object of every kind", function () {
  let server: RunningServer;
  let kubectl: Kubectl;

  before(async function () {
    if (!Kubectl.isThere) this.skip();
    server = await startServer({ port: 0, controllers: false, runtimeConfig: olderVersions });
    kubectl = new Kubectl(server.kubeconfig);
  });
  after(async () => {
    await server?.close();
    kubectl?.[Symbol.dispose]();
  });

  it("creates them", async () => {
    const created = await kubectl.ok(`create -f ${file} --validate=strict`);
    assert.equal(created.match(/ created$/gm)?.length, manifests.length);
  });

  it("gets them as objects and as rows", async () => {
    const read = JSON.parse(await kubectl.ok(`get -f ${file} -o json`));
    assert.deepEqual(
      read.items.map((each: Manifest) => [each.apiVersion, each.kind, each.metadata.name]),
      manifests.map((each) => [each.apiVersion, each.kind, each.metadata.name]),
    );
    const rows = await kubectl.ok(`get -f ${file} -o wide`);
    for (const { metadata } of manifests) assert(rows.includes(metadata.name), rows);
  });

  it("describes them", async () => {
    const text = await kubectl.ok(`describe -f ${file}`);
    assert.equal(text.match(/^Name: +\S+$/gm)?.length, manifests.length);
  });

  it("explains their fields", async () => {
    const kinds = [...manifests];
    const explain = async (): Promise<void> => {
      for (let each = kinds.shift(); each !== undefined; each = kinds.shift()) {
        const { apiVersion, kind } = each;
        const text = await kubectl.ok(`explain ${kind} --api-version=${apiVersion} --recursive`);
        assert.match(text, /^KIND: +\w+$[^]*^FIELDS:$/m, kind);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, explain));
  });

  it("knows no other kinds", async () => {
    const listed = await kubectl.ok("api-resources --verbs=create,get --no-headers");
    const served = listed
      .trim()
      .split("\n")
      .map((line) => line.split(/ +/).slice(-3))
      .map(([apiVersion, , kind]) => `${apiVersion} ${kind}`);
    const known = new Set(manifests.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`));
    assert.deepEqual(
      served.filter((each) => !known.has(each)),
      elsewhere,
    );
  });

  it("deletes them", async () => {
    const deleted = await kubectl.ok(`delete -f ${file} --wait=false`);
    assert.equal(deleted.match(/ deleted( from \S+ namespace)?$/gm)?.length, manifests.length);
  });
});

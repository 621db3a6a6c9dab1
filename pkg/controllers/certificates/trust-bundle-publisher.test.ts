/** The ClusterTrustBundle of the API server's own authority. */
import assert from "node:assert/strict";
import { createAuthority } from "#pki";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { type ControllerTest, startController } from "../testing.ts";
import { runTrustBundlePublisher } from "./trust-bundle-publisher.ts";

const bundles = "certificates.k8s.io/v1beta1/clustertrustbundles/";
const signerName = "kubernetes.io/kube-apiserver-serving";

describe("kube-apiserver-serving-clustertrustbundle-publisher-controller", () => {
  let test: TestRegistry;
  let run: ControllerTest;
  let trustBundle: string;
  beforeEach(async () => {
    test = await testRegistry();
    trustBundle = (await createAuthority("kubernetes", { validDays: 1, now: Date.now() }))
      .certificate;
    run = await startController((context) => runTrustBundlePublisher(context, trustBundle), {
      test,
    });
  });
  afterEach(() => run.stop());

  const published = () =>
    run.until(async () => {
      const names = await test.names(bundles);
      return names.length === 1 ? names[0] : undefined;
    });

  it("publishes the certificates under a name with their hash", async () => {
    const name = await published();
    assert.match(name, /^kubernetes\.io:kube-apiserver-serving:[0-9a-f]{24}$/);
    const { spec } = (await test.get(`${bundles}/${name}`)).object;
    assert.deepEqual(spec, { signerName, trustBundle });
  });

  it("recreates a deleted bundle, and deletes other bundles of the signer", async () => {
    const name = await published();
    await test.remove(`${bundles}/${name}`);
    assert.equal(await published(), name);
    const former = `${name.slice(0, -24)}${"0".repeat(24)}`;
    await test.post(bundles, { metadata: { name: former }, spec: { signerName, trustBundle } });
    await run.until(async () => !(await test.names(bundles)).includes(former));
    assert.equal(await published(), name);
  });
});

import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("ServiceAccount", () => {
  const start = async (account: object = {}) => {
    const test = await testAdmission("ServiceAccount");
    await test.post("v1/serviceaccounts/ns", { metadata: { name: "default" }, ...account });
    return test;
  };
  const pod = (spec: object = {}, metadata: object = {}): any => ({
    metadata: { name: "p", ...metadata },
    spec: { containers: [{ name: "c" }], ...spec },
  });

  it("sets the default account, mounts its token and copies its pull secrets", async () => {
    const test = await start({ imagePullSecrets: [{ name: "reg" }] });
    const object = pod();
    assert.equal(await test.admit("create v1/pods/ns", { object }), "accepted");
    const { spec } = object;
    assert.equal(spec.serviceAccountName, "default");
    assert.deepEqual(spec.imagePullSecrets, [{ name: "reg" }]);
    assert.match(spec.volumes[0].name, /^kube-api-access-[a-z0-9]{5}$/);
    assert.deepEqual(spec.containers[0].volumeMounts, [
      {
        name: spec.volumes[0].name,
        readOnly: true,
        mountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
      },
    ]);
  });

  it("mounts no token where pod or account opt out", async () => {
    const test = await start({ automountServiceAccountToken: false });
    const object = pod();
    assert.equal(await test.admit("create v1/pods/ns", { object }), "accepted");
    assert.equal(object.spec.volumes, undefined);
  });

  it("retries for the default account, and refuses an account that does not exist", async () => {
    const test = await testAdmission("ServiceAccount");
    const refused = (name: string) =>
      `403 pods "p" is forbidden: error looking up service account ns/${name}: ` +
      `serviceaccount "${name}" not found`;
    assert.equal(await test.admit("create v1/pods/ns", { object: pod() }), refused("default"));
    assert.equal(test.clock.slept.length, 9);
    const object = pod({ serviceAccountName: "no" });
    assert.equal(await test.admit("create v1/pods/ns", { object }), refused("no"));
    assert.equal(test.clock.slept.length, 9);
  });

  it("refuses a mirror pod with a service account", async () => {
    const test = await start();
    const annotations = { "kubernetes.io/config.mirror": "x" };
    const object = pod({ serviceAccountName: "default" }, { annotations });
    assert.equal(
      await test.admit("create v1/pods/ns", { object }),
      '403 pods "p" is forbidden: a mirror pod may not reference service accounts',
    );
  });
});

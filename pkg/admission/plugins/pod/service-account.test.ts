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

  describe("enforce-mountable-secrets", () => {
    const enforcing = (value: string) =>
      start({
        metadata: {
          name: "default",
          annotations: { "kubernetes.io/enforce-mountable-secrets": value },
        },
        secrets: [{ name: "own" }],
        imagePullSecrets: [{ name: "reg" }],
      });
    const mounting = (secretName: string) =>
      pod({ volumes: [{ name: "v", secret: { secretName } }] });
    const create = async (value: string, object: any) =>
      (await enforcing(value)).admit("create v1/pods/ns", { object });

    for (const value of ["1", "t", "T", "TRUE", "true", "True"]) {
      it(`is on for ${value}`, async () => {
        assert.equal(
          await create(value, mounting("other")),
          '403 pods "p" is forbidden: volume with secret.secretName="other" is not allowed because ' +
            "service account default does not reference that secret",
        );
        assert.equal(await create(value, mounting("own")), "accepted");
      });
    }

    for (const value of ["0", "f", "false", "tRUE", "yes", "", " true"]) {
      it(`is off for ${JSON.stringify(value)}`, async () => {
        assert.equal(await create(value, mounting("other")), "accepted");
      });
    }

    const variable = { env: [{ name: "E", valueFrom: { secretKeyRef: { name: "other" } } }] };
    const whole = { envFrom: [{ secretRef: { name: "other" } }] };
    for (const [by, spec] of [
      [
        "init container i with envVar E referencing secret",
        { initContainers: [{ name: "i", ...variable }] },
      ],
      [
        "init container i with envFrom referencing secret",
        { initContainers: [{ name: "i", ...whole }] },
      ],
      [
        "container c with envVar E referencing secret",
        { containers: [{ name: "c", ...variable }] },
      ],
      ["container c with envFrom referencing secret", { containers: [{ name: "c", ...whole }] }],
      ["imagePullSecrets[1].name", { imagePullSecrets: [{ name: "reg" }, { name: "other" }] }],
    ] as const) {
      it(`covers ${by}`, async () => {
        const found = await create("true", pod(spec));
        assert.ok(found.startsWith(`403 pods "p" is forbidden: ${by}`), found);
      });
    }

    it("covers ephemeral containers", async () => {
      const object = pod({
        serviceAccountName: "default",
        ephemeralContainers: [{ name: "e", ...whole }],
      });
      const old = pod({ serviceAccountName: "default" });
      const test = await enforcing("1");
      assert.match(
        await test.admit("update v1/pods/ns/p/ephemeralcontainers", { object, old }),
        /ephemeral container e with envFrom referencing secret\.secretName="other" is not allowed/,
      );
    });
  });

  describe("refuses a mirror pod with a secret in", () => {
    const secretRef = { name: "s" };
    for (const [name, spec] of Object.entries({
      ...Object.fromEntries(
        ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"].map((type) => [
          type,
          { volumes: [{ name: "v", [type]: { secretRef } }] },
        ]),
      ),
      azureFile: { volumes: [{ name: "v", azureFile: { secretName: "s" } }] },
      csi: { volumes: [{ name: "v", csi: { nodePublishSecretRef: secretRef } }] },
      secret: { volumes: [{ name: "v", secret: { secretName: "s" } }] },
      projected: { volumes: [{ name: "v", projected: { sources: [{ secret: secretRef }] } }] },
      imagePullSecrets: { imagePullSecrets: [secretRef] },
      envFrom: { containers: [{ name: "c", envFrom: [{ secretRef }] }] },
    })) {
      it(name, async () => {
        const test = await start();
        const object = pod(spec, { annotations: { "kubernetes.io/config.mirror": "x" } });
        assert.equal(
          await test.admit("create v1/pods/ns", { object }),
          '403 pods "p" is forbidden: a mirror pod may not reference secrets',
        );
      });
    }
  });
});

import assert from "node:assert/strict";
import { testAdmission, type TestAdmission, type TestAdmissionOptions } from "../testing.ts";

const label = "pod-security.kubernetes.io";

describe("PodSecurity", () => {
  const pod = (spec: object = {}, containers: readonly object[] = [{ name: "c", image: "i" }]) => ({
    metadata: { name: "p" },
    spec: { containers, ...spec },
  });
  const start = async (labels: object, options?: TestAdmissionOptions): Promise<TestAdmission> => {
    const test = await testAdmission("PodSecurity", options);
    const keyed = Object.entries(labels).map(([key, value]) => [`${label}/${key}`, value]);
    await test.post("v1/namespaces", {
      metadata: { name: "s", labels: Object.fromEntries(keyed) },
    });
    return test;
  };

  describe("updates of a pod from before the policy", () => {
    const violating = { hostNetwork: true };
    const image = (of: string) => [{ name: "c", image: of }];
    const debug = (name: string, of: string) => ({ ephemeralContainers: [{ name, image: of }] });
    const refused = '403 pods "p" is forbidden: violates PodSecurity "baseline:latest": ';
    for (const [name, spec, containers, verdict] of [
      ["a toleration", { tolerations: [{ operator: "Exists" }] }, image("i"), "accepted"],
      ["resources", {}, [{ name: "c", image: "i", resources: { limits: {} } }], "accepted"],
      ["an image", {}, image("j"), "refused"],
      ["an image of an init container", { initContainers: image("j") }, image("i"), "refused"],
      ["a debug container", debug("d", "i"), image("i"), "refused"],
      ["the image of a debug container", debug("old", "j"), image("i"), "refused"],
      ["no debug container", debug("old", "i"), image("i"), "accepted"],
    ] as const) {
      it(`${name}: ${verdict}`, async () => {
        const test = await start({ enforce: "baseline" });
        const old = pod({ ...violating, ...debug("old", "i") }, image("i"));
        const object = pod({ ...violating, ...debug("old", "i"), ...spec }, containers);
        for (const path of ["p", "p/ephemeralcontainers", "p/resize"]) {
          const found = await test.admit(`update v1/pods/s/${path}`, { object, old });
          const isRefused = found.startsWith(refused);
          assert.equal(isRefused ? "refused" : found, verdict, path);
        }
      });
    }
  });

  it("relaxes checks for pods with a user namespace, where the gate is on", async () => {
    const spec = { hostUsers: false, securityContext: { runAsUser: 0, runAsNonRoot: false } };
    const found = await Promise.all(
      [[], ["UserNamespacesPodSecurityStandards"]].map(async (gates) => {
        const test = await start({ enforce: "restricted" }, { gates });
        return test.admit("create v1/pods/s", { object: pod(spec) });
      }),
    );
    assert.deepEqual(
      found.map((text) => /runAsUser|runAsNonRoot/.test(text)),
      [true, false],
    );
  });

  describe("labels of a namespace", () => {
    const namespace = (labels: object) => ({
      metadata: {
        name: "s",
        labels: Object.fromEntries(
          Object.entries(labels).map(([key, value]) => [`${label}/${key}`, value]),
        ),
      },
    });
    const relabel = async (before: object, after: object, options?: TestAdmissionOptions) => {
      const test = await start({}, options);
      for (const name of ["b", "a"]) {
        await test.post("v1/pods/s", { ...pod({ hostNetwork: true }), metadata: { name } });
      }
      const write = { old: namespace(before), object: namespace(after) };
      return test.warnings("update v1/namespaces//s", write);
    };
    const violate = (level: string, reasons: string) => [
      `existing pods in namespace "s" violate the new PodSecurity enforce level "${level}"`,
      `a (and 1 other pod): ${reasons}`,
    ];

    it("warns of existing pods where the level gets stricter", async () => {
      assert.deepEqual(
        await relabel({}, { enforce: "baseline" }),
        violate("baseline:latest", "host namespaces"),
      );
    });

    it("does not where it gets laxer at the same version", async () => {
      assert.deepEqual(await relabel({ enforce: "restricted" }, { enforce: "baseline" }), []);
      const older = { enforce: "baseline", "enforce-version": "v1.20" };
      assert.deepEqual(
        await relabel({ enforce: "restricted" }, older),
        violate("baseline:v1.20", "host namespaces"),
      );
    });

    it("have no effect in an exempt namespace, with a warning", async () => {
      const configuration = {
        PodSecurity: {
          apiVersion: "pod-security.admission.config.k8s.io/v1",
          kind: "PodSecurityConfiguration",
          exemptions: { namespaces: ["s"] },
        },
      };
      assert.deepEqual(
        await relabel({}, { enforce: "baseline", warn: "privileged" }, { configuration }),
        [
          'namespace "s" is exempt from Pod Security, ' +
            "and the policy (enforce=baseline:latest) will be ignored",
        ],
      );
    });
  });

  describe("warnings follow enforcement", () => {
    const deployment = {
      metadata: { name: "d" },
      spec: { template: { metadata: {}, spec: pod({ hostNetwork: true }).spec } },
    };
    const defaults = (warn: string) => ({
      configuration: {
        PodSecurity: {
          apiVersion: "pod-security.admission.config.k8s.io/v1",
          kind: "PodSecurityConfiguration",
          defaults: { warn },
        },
      },
    });
    for (const [labels, warn, level] of [
      [{ enforce: "baseline" }, "privileged", "baseline:latest"],
      [{ enforce: "baseline", "enforce-version": "v1.20" }, "privileged", "baseline:v1.20"],
      [{ enforce: "baseline", "warn-version": "v1.20" }, "privileged", "baseline:v1.20"],
      [{ enforce: "baseline", warn: "privileged" }, "baseline", undefined],
      [{ enforce: "privileged" }, "baseline", "baseline:latest"],
    ] as const) {
      it(`${JSON.stringify(labels)} over ${warn}: ${level}`, async () => {
        const test = await start(labels, defaults(warn));
        const found = await test.warnings("create apps/v1/deployments/s", { object: deployment });
        const shown = found.map((text) => /PodSecurity "(.*?)"/.exec(text)?.[1]);
        assert.deepEqual(shown, level === undefined ? [] : [level]);
      });
    }
  });
});

import assert from "node:assert/strict";
import { map, string } from "#schema";
import { persistentVolumeSource } from "../core/persistent-volume/persistent-volume-sources.ts";
import { podSpec } from "../core/pod/spec/pod-spec.ts";
import { goDiff } from "./go-diff.ts";
import { goShape } from "./go-shape.ts";

const containers = [{ name: "c", image: "i" }];

describe("goShape", () => {
  it("has the names and the order of the internal types", () => {
    const shape = goShape(podSpec, {
      containers: [{ name: "c", livenessProbe: { httpGet: { port: 80 } } }],
      volumes: [{ name: "v", rbd: { monitors: ["m"], image: "i" } }],
    });
    assert.deepEqual(Object.keys(shape).slice(0, 4), [
      "Volumes",
      "InitContainers",
      "Containers",
      "EphemeralContainers",
    ]);
    const [volume] = shape["Volumes"] as [Record<string, unknown>];
    assert.deepEqual(Object.keys(volume).slice(0, 4), [
      "Name",
      "HostPath",
      "EmptyDir",
      "GCEPersistentDisk",
    ]);
    assert.deepEqual(volume["RBD"], {
      CephMonitors: ["m"],
      RBDImage: "i",
      FSType: "",
      RBDPool: "",
      RadosUser: "",
      Keyring: "",
      SecretRef: null,
      ReadOnly: false,
    });
    const [container] = shape["Containers"] as [Record<string, Record<string, unknown>>];
    assert.deepEqual(container["LivenessProbe"]!["HTTPGet"], {
      Path: "",
      Port: 80,
      Host: "",
      Scheme: "",
      HTTPHeaders: null,
    });
  });
  it("has the host namespaces of a pod in its security context", () => {
    const of = (spec: object) => goShape(podSpec, { containers, ...spec });
    const shape = of({ hostPID: true, securityContext: { fsGroup: 7 } });
    assert(!("HostPID" in shape) && !("ServiceAccount" in shape));
    const context = shape["SecurityContext"] as object;
    assert.deepEqual(Object.entries(context).slice(0, 5), [
      ["HostNetwork", false],
      ["HostPID", true],
      ["HostIPC", false],
      ["ShareProcessNamespace", null],
      ["HostUsers", null],
    ]);
    assert.equal((context as Record<string, unknown>)["FSGroup"], 7);
    const { SecurityContext: absent } = of({});
    assert.equal((absent as Record<string, unknown>)["HostPID"], false);
  });
  it("keeps JSON names in types that all versions share", () => {
    const selector = { matchLabels: { a: "b" } };
    const spec = { topologySpreadConstraints: [{ labelSelector: selector }] };
    const { TopologySpreadConstraints: shown } = goShape(podSpec, { containers, ...spec });
    assert.deepEqual((shown as Record<string, unknown>[])[0]!["LabelSelector"], selector);
  });
});

describe("goDiff", () => {
  it("prints what kube-apiserver prints", () => {
    const before = { hostPath: { path: "/a", type: "" } };
    const after = { hostPath: { path: "/<k>", type: "" } };
    assert.deepEqual(goDiff(persistentVolumeSource, before, after).split("\n"), [
      "@@ -2,7 +2,7 @@",
      '  "GCEPersistentDisk": null,',
      '  "AWSElasticBlockStore": null,',
      '  "HostPath": {',
      '-  "Path": "/a",',
      '+  "Path": "/\\u003ck\\u003e",',
      '   "Type": ""',
      "  },",
      '  "Glusterfs": null,',
      "",
    ]);
  });
  it("sorts keys of maps as strings", () => {
    assert.equal(
      goDiff(map(string), { 9: "x", 10: "y" }, { 9: "x", 10: "y", a: "z" }),
      '@@ -1,4 +1,5 @@\n {\n  "10": "y",\n- "9": "x"\n+ "9": "x",\n+ "a": "z"\n }\n',
    );
  });
  it("prints integers beyond 2^53", () => {
    const spec = { containers, terminationGracePeriodSeconds: 2n ** 62n };
    const diff = goDiff(podSpec, { containers }, spec);
    assert.match(diff, /^\+ "TerminationGracePeriodSeconds": 4611686018427387904,$/m);
  });
  it("names the changed fields of large values", () => {
    const many = Array.from({ length: 1_000 }, (_, n) => ({ name: `c${n}`, image: "i" }));
    const large = { containers: many };
    const changed = { containers: many.slice(1), hostname: "h" };
    assert.equal(goDiff(podSpec, large, changed), "changed: containers, hostname");
    assert.match(goDiff(podSpec, { containers }, { containers, hostname: "h" }), /^@@/);
  });
});

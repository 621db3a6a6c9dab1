import assert from "node:assert/strict";
import { type NodesTest, startNodes } from "../testing.ts";

describe("volumes of simulated containers", () => {
  let run: NodesTest;
  let expectedReports: readonly string[];
  beforeEach(async () => {
    expectedReports = [];
    run = await startNodes();
    await run.test.post("v1/configmaps/ns", {
      metadata: { name: "c" },
      data: { text: "blue" },
      binaryData: { bytes: "aGk=" },
    });
    await run.test.post("v1/secrets/ns", { metadata: { name: "s" }, data: { key: "c2VjcmV0" } });
  });
  afterEach(async () => {
    await run.stop();
    assert.deepEqual(run.reports, expectedReports);
  });

  /** What a container that mounts the volume at /v finds in its files, by their path. */
  async function found(source: object, ...paths: readonly string[]) {
    const script = `for f in ${paths.join(" ")}; do echo "$f=$(cat /v/$f)"; done > /dev/termination-log`;
    await run.createPod("p", {
      metadata: { annotations: { b: "2", a: 'say "1"' } },
      spec: {
        restartPolicy: "Never",
        serviceAccountName: "default",
        volumes: [{ name: "v", ...source }],
        containers: [
          {
            name: "app",
            image: "busybox",
            command: ["sh", "-c", script],
            volumeMounts: [{ name: "v", mountPath: "/v" }],
            resources: { limits: { memory: "64Mi" } },
          },
        ],
      },
    });
    await run.pass(2_000);
    const [status] = (await run.pod("p")).status?.containerStatuses ?? [];
    return status?.state?.terminated?.message?.trimEnd();
  }

  const noted = { path: "noted", fieldRef: { fieldPath: "metadata.annotations" } };
  const memory = {
    path: "memory",
    resourceFieldRef: { containerName: "app", resource: "limits.memory", divisor: "1Mi" },
  };

  it("have the text and the bytes of ConfigMaps", async () => {
    assert.equal(await found({ configMap: { name: "c" } }, "text", "bytes"), "text=blue\nbytes=hi");
  });

  it("have the keys of Secrets under their paths", async () => {
    const items = [{ key: "key", path: "deep/k" }];
    assert.equal(await found({ secret: { secretName: "s", items } }, "deep/k"), "deep/k=secret");
  });

  it("have fields and resources of the downward API", async () => {
    const text = await found({ downwardAPI: { items: [noted, memory] } }, "noted", "memory");
    assert.equal(text, 'noted=a="say \\"1\\""\nb="2"\nmemory=64');
  });

  it("have all sources of projected volumes", async () => {
    const sources = [
      { configMap: { name: "c", items: [{ key: "text", path: "one" }] } },
      { secret: { name: "s" } },
      { downwardAPI: { items: [memory] } },
      { configMap: { name: "absent", optional: true } },
    ];
    const text = await found({ projected: { sources } }, "one", "key", "memory");
    assert.equal(text, "one=blue\nkey=secret\nmemory=64");
  });

  it("lack a token that is not issued, while the node keeps trying", async () => {
    // This registry serves no tokens.
    const sources = [{ serviceAccountToken: { path: "token" } }];
    assert.equal(await found({ projected: { sources } }, "token"), undefined);
    await run.pass(10_000);
    assert.equal(run.reports.length, 2, run.reports.join("\n"));
    assert.match(run.reports[0]!, /^Failed to request a token for pod ns\/p: /);
    expectedReports = run.reports;
  });
});

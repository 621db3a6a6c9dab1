/** Flags of the controllers that run in the process of the API server. */
import assert from "node:assert/strict";
import { startServer } from "#controlplane";
import { startFlags } from "../apiserver/options.ts";
import { parseFlags } from "../flags/parse.ts";
import { localControllerOptions } from "./local-flags.ts";

const parsed = (...words: string[]) => localControllerOptions(parseFlags(startFlags, words));

describe("flags of controllers in the process of the API server", () => {
  it("configure the controllers, with the defaults of kube-controller-manager", () => {
    const { settings, selected } = parsed("--node-monitor-grace-period=8s");
    assert.equal(settings?.nodeMonitorGraceMs, 8_000);
    assert.equal(settings?.nodeMonitorPeriodMs, 5_000);
    assert.equal(selected, undefined);
  });

  it("select controllers, and reject unknown ones", () => {
    const { selected = [] } = parsed("--controllers=*,-nodelifecycle,bootstrapsigner");
    const names = selected.map(({ name }) => name);
    assert.ok(names.includes("bootstrap-signer-controller"));
    assert.ok(names.includes("namespace-controller"));
    assert.ok(!names.includes("node-lifecycle-controller"));
    assert.throws(() => parsed("--controllers=nonsense"), /--controllers: "nonsense" is not in/);
  });

  it("pass the server's Service CIDRs to node IPAM", () => {
    const words = ["--allocate-node-cidrs", "--cluster-cidr=10.244.0.0/16"];
    const { settings } = parsed(...words, "--service-cluster-ip-range=10.244.0.0/24");
    assert.match(JSON.stringify(settings?.nodeIpam), /10.244.0.0/);
  });

  it("run only the selected controllers", async () => {
    const controllerManager = parsed("--controllers=serviceaccount");
    const server = await startServer({ controllerManager });
    try {
      const read = async (path: string) => (await server.fetch(path)).status;
      for (let tries = 0; ; tries++) {
        if ((await read("/api/v1/namespaces/default/serviceaccounts/default")) === 200) break;
        assert.ok(tries < 3000, "the service account is never created");
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      const namespace = "/api/v1/namespaces/default";
      assert.equal(await read(`${namespace}/configmaps/kube-root-ca.crt`), 404);
    } finally {
      await server.close();
    }
  });
});

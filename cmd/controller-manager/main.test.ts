/** Two controller managers of one API server, as processes. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { holdPort } from "#base";
import { createAuthority } from "#pki";
import { makeRequest } from "../../pkg/pki/testing.ts";
import { root } from "../../test/tidy/source.ts";
import { type RunningServer, startServer } from "#controlplane";

const program = path.join(root, "dist", "keelson.js");
const leasePath =
  "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager";

describe("keelson controller-manager", () => {
  let folder: string;
  let server: RunningServer;
  const managers: Manager[] = [];

  interface Manager {
    readonly child: ChildProcess;
    readonly ended: Promise<number | null>;
    text(): string;
  }

  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "keelson-manager-"));
    server = await startServer({ port: 0, controllers: false, authorization: ["RBAC"] });
    writeFileSync(path.join(folder, "kubeconfig"), server.kubeconfig, { mode: 0o600 });
    const authority = await createAuthority("signer", { validDays: 1, now: Date.now() });
    writeFileSync(path.join(folder, "ca.crt"), authority.certificate);
    writeFileSync(path.join(folder, "ca.key"), authority.privateKey, { mode: 0o600 });
  });
  after(async () => {
    for (const { child } of managers) child.kill("SIGKILL");
    await Promise.all(managers.map(({ ended }) => ended));
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function manager(...more: readonly string[]): Manager {
    const words = [
      "controller-manager",
      `--kubeconfig=${path.join(folder, "kubeconfig")}`,
      "--secure-port=0",
      "--cluster-signing-cert-file=ca.crt",
      "--cluster-signing-key-file=ca.key",
      "--concurrent-resource-quota-syncs=2",
      "--resource-quota-sync-period=1m",
      "--use-service-account-credentials",
      "--leader-elect-lease-duration=15s",
      "--leader-elect-renew-deadline=10s",
      "--leader-elect-retry-period=500ms",
      ...more,
    ];
    const child = spawn(process.execPath, [program, ...words], { cwd: folder });
    let text = "";
    child.stdout.on("data", (chunk) => (text += chunk));
    child.stderr.on("data", (chunk) => (text += chunk));
    const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
    const made = { child, ended, text: () => text };
    managers.push(made);
    return made;
  }

  async function until(what: () => boolean | Promise<boolean>, told: () => string): Promise<void> {
    for (let tries = 0; !(await what()); tries++) {
      assert.ok(tries < 3600, told());
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  const leads = ({ text }: Manager) => text().includes("keelson: leading");

  async function holder(): Promise<string> {
    const answer = await server.fetch(leasePath);
    const { spec } = (await answer.json()) as { spec?: { holderIdentity?: string } };
    return spec?.holderIdentity ?? "";
  }

  function post(url: string, object: object): Promise<Response> {
    const headers = { "content-type": "application/json" };
    return server.fetch(url, { method: "POST", headers, body: JSON.stringify(object) });
  }

  /** Creates a quota and waits for its calculated usage. */
  async function counts(): Promise<void> {
    const quotas = "/api/v1/namespaces/default/resourcequotas";
    const hard = { services: "5", "count/leases.coordination.k8s.io": "2" };
    await post(quotas, { metadata: { name: "q" }, spec: { hard } });
    const counted = async () => {
      const { status } = (await (await server.fetch(`${quotas}/q`)).json()) as { status: any };
      return Object.keys(status?.used ?? {}).length === 2;
    };
    await until(counted, () => managers.map(({ text }) => text()).join("\n"));
  }

  /** Creates a CSR of a kubelet and waits for its certificate. */
  async function signs(name: string): Promise<void> {
    const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    const names = { commonName: `system:node:${name}`, organizations: ["system:nodes"] };
    const { request } = await makeRequest(names);
    await post(requests, {
      metadata: { name },
      spec: {
        request: Buffer.from(request).toString("base64"),
        signerName: "kubernetes.io/kube-apiserver-client-kubelet",
        usages: ["digital signature", "client auth"],
      },
    });
    const signed = async () => {
      const answer = await (await server.fetch(`${requests}/${name}`)).json();
      return (answer as { status?: { certificate?: string } }).status?.certificate !== undefined;
    };
    await until(signed, () => managers.map(({ text }) => text()).join("\n"));
  }

  /** Deletes a namespace and waits until it has been finalized. */
  async function cleansUp(name: string): Promise<void> {
    await post("/api/v1/namespaces", { metadata: { name } });
    await post(`/api/v1/namespaces/${name}/configmaps`, { metadata: { name: "a" } });
    await server.fetch(`/api/v1/namespaces/${name}`, { method: "DELETE" });
    const gone = async () => (await server.fetch(`/api/v1/namespaces/${name}`)).status === 404;
    await until(gone, () => managers.map(({ text }) => text()).join("\n"));
  }

  it("one process leads, then the other, which releases the Lease when it exits", async () => {
    const first = manager();
    await until(() => leads(first), first.text);
    await cleansUp("one");
    await counts();
    await signs("one");
    const second = manager();
    await until(() => second.text().includes(" leads"), second.text);
    assert.equal(leads(second), false);
    first.child.kill("SIGKILL");
    await first.ended;
    await until(() => leads(second), second.text);
    await cleansUp("two");
    second.child.kill("SIGTERM");
    assert.equal(await second.ended, 0, second.text());
    assert.equal(await holder(), "");
  });

  it("exits on a signal while it acquires the Lease", async () => {
    const { port, release } = await holdPort(0);
    await release();
    const { child, ended, text } = manager(
      `--secure-port=${port}`,
      "--cert-dir=certs",
      "--kube-api-content-type=application/vnd.kubernetes.protobuf",
    );
    child.stdout?.once("data", () => child.kill("SIGTERM"));
    assert.equal(await ended, 0, text());
    assert.equal(await holder(), "");
    const pem = readFileSync(path.join(folder, "certs", "kube-controller-manager.crt"), "utf8");
    assert.match(pem, /BEGIN CERTIFICATE/);
  });

  it("reports errors in one sentence", async () => {
    const mistakes: readonly (readonly [string, RegExp])[] = [
      [
        "--controllers=*,nonsense",
        /^keelson: --controllers: "nonsense" is not in the list of known controllers\n$/,
      ],
      ["--kubeconfig=missing", /^keelson: --kubeconfig: missing cannot be read \(ENOENT\)\n$/],
      [
        "--cluster-signing-key-file=",
        /^keelson: --cluster-signing-cert-file and .* must be given together\n$/,
      ],
      ["--leader-elect-renew-deadline=20s", /^keelson: --leader-elect: leaseDuration must be/],
    ];
    for (const [word, sentence] of mistakes) {
      const made = manager(word);
      assert.equal(await made.ended, 1, word);
      assert.match(made.text(), sentence);
    }
  });
});

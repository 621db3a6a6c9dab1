/** CertificateSigningRequests: automatic approval, signing, and authentication with the certificates. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { request as call } from "node:https";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";
import { makeRequest } from "../../../pkg/pki/testing.ts";

const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const clientUsages = ["digital signature", "client auth"];

describe("certificate requests", () => {
  let server: RunningServer;
  const troubles: string[] = [];
  before(async () => {
    server = await startServer({
      port: 0,
      authorization: ["Node", "RBAC"],
      report: (what) => troubles.push(what),
    });
    const role = "system:certificates.k8s.io:certificatesigningrequests:nodeclient";
    for (const name of [role, "system:node-bootstrapper"]) {
      await send("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        metadata: { name: `joiners:${name}` },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
        subjects: [{ kind: "Group", name: "joiners" }],
      });
    }
    await send("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      metadata: { name: "askers" },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "system:node-bootstrapper",
      },
      subjects: [{ kind: "Group", name: "askers" }],
    });
  });
  after(async () => {
    await server.close();
    assert.deepEqual(troubles, []);
  });

  async function send(method: string, path: string, object?: object, as?: string): Promise<any> {
    const body = object === undefined ? {} : { body: JSON.stringify(object) };
    const headers: Record<string, string> = { "content-type": "application/json" };
    if (as !== undefined) Object.assign(headers, { "impersonate-user": "u" });
    if (as !== undefined) headers["impersonate-group"] = as;
    const answer = await server.fetch(path, { method, headers, ...body });
    return { code: answer.status, ...((await answer.json()) as object) };
  }

  async function until(path: string, wanted: (answer: any) => boolean): Promise<any> {
    for (let tries = 0; ; tries++) {
      const answer = await send("GET", path);
      if (wanted(answer)) return answer;
      assert.ok(tries < 2400, JSON.stringify(answer));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  interface Asked {
    readonly name: string;
    readonly signer: string;
    readonly request: string;
    readonly usages?: readonly string[];
    readonly as?: string;
  }

  async function ask({ name, signer, request, usages = clientUsages, as }: Asked): Promise<void> {
    const spec = {
      request: Buffer.from(request).toString("base64"),
      signerName: `kubernetes.io/${signer}`,
      usages,
      expirationSeconds: 3600,
    };
    const answer = await send("POST", requests, { metadata: { name }, spec }, as);
    assert.equal(answer.code, 201, JSON.stringify(answer));
  }

  async function approve(name: string): Promise<void> {
    const found = await send("GET", `${requests}/${name}`);
    const conditions = [{ type: "Approved", status: "True", reason: "Test" }];
    const approved = { ...found, status: { ...found.status, conditions } };
    assert.equal((await send("PUT", `${requests}/${name}/approval`, approved)).code, 200);
  }

  const signed = async (name: string) => {
    const { status } = await until(`${requests}/${name}`, (found) => found.status?.certificate);
    const text = Buffer.from(status.certificate, "base64").toString();
    return { status, text, certificate: new X509Certificate(text) };
  };
  const kubelet = (name: string) => ({
    commonName: `system:node:${name}`,
    organizations: ["system:nodes"],
  });

  it("of kubelets are approved for bootstrap users, and signed", async () => {
    const { request } = await makeRequest(kubelet("n"));
    const signer = "kube-apiserver-client-kubelet";
    await ask({ name: "stranger", signer, request, as: "askers" });
    await ask({ name: "node", signer, request, as: "joiners" });
    const { status, certificate } = await signed("node");
    assert.deepEqual(
      status.conditions.map(({ type, reason, message }: any) => [type, reason, message]),
      [
        [
          "Approved",
          "AutoApproved",
          "Auto approving kubelet client certificate after SubjectAccessReview.",
        ],
      ],
    );
    assert.equal(certificate.subject, "O=system:nodes\nCN=system:node:n");
    assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
    const hours = (Date.parse(certificate.validTo) - Date.now()) / 3_600_000;
    assert.ok(hours > 0.9 && hours < 1.1, `${hours}`);
    assert.deepEqual((await send("GET", `${requests}/stranger`)).status, {});
  });

  // OpenSSL rejects client certificates whose only key usage is key encipherment.
  const usageSets = [
    ["client auth"],
    ["digital signature", "client auth"],
    ["digital signature", "key encipherment", "client auth"],
  ];
  for (const usages of usageSets) {
    it(`of users are signed once approved, and authenticate: ${usages.join(", ")}`, async () => {
      const name = `alice-${usages.length}-${usages[0]!.replace(" ", "-")}`;
      const names = { commonName: "alice", organizations: ["devs", "ops"] };
      const { request, privateKey: key } = await makeRequest(names);
      await ask({ name, signer: "kube-apiserver-client", request, usages });
      await approve(name);
      const { text: cert, certificate } = await signed(name);
      const user = await userOf(cert, key);
      assert.equal(user.username, "alice");
      assert.deepEqual(user.groups, ["devs", "ops", "system:authenticated"]);
      assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
    });
  }

  function userOf(cert: string, key: string): Promise<any> {
    return new Promise<any>((resolve, reject) => {
      const url = `${server.url}/apis/authentication.k8s.io/v1/selfsubjectreviews`;
      const headers = { "content-type": "application/json" };
      const options = { method: "POST", cert, key, headers, rejectUnauthorized: false };
      const sent = call(url, options, async (answer) => {
        let body = "";
        for await (const chunk of answer) body += chunk;
        resolve(JSON.parse(body).status.userInfo);
      });
      sent.on("error", reject);
      sent.end("{}");
    });
  }

  it("that no signer signs have a condition with the reason", async () => {
    const signer = "kubelet-serving";
    const usages = ["digital signature", "server auth"];
    const nowhere = await makeRequest(kubelet("n"));
    await ask({ name: "nowhere", signer, request: nowhere.request, usages });
    await approve("nowhere");
    const { status } = await until(`${requests}/nowhere`, (found) =>
      found.status?.conditions?.some(({ type }: any) => type === "Failed"),
    );
    const { reason, message } = status.conditions.at(-1);
    assert.equal(reason, "SignerValidationFailure");
    assert.match(message, /a DNS name or an IP address/);
    const somewhere = await makeRequest({ ...kubelet("n"), hosts: ["n.example.com"] });
    await ask({ name: "somewhere", signer, request: somewhere.request, usages });
    await approve("somewhere");
    const { certificate } = await signed("somewhere");
    assert.equal(certificate.subjectAltName, "DNS:n.example.com");
  });
});

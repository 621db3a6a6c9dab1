import assert from "node:assert/strict";
import type { Client } from "#client";
import { internalError } from "#meta";
import { makeRequest } from "../../pki/testing.ts";
import { type ControllerTest, startController } from "../testing.ts";
import { runApprovingController } from "./approving-controller.ts";

const group = "certificates.k8s.io/v1/certificatesigningrequests";
const signerName = "kubernetes.io/kube-apiserver-client-kubelet";

describe("certificatesigningrequest-approving-controller", () => {
  let run: ControllerTest;
  /** Subresources for which SubjectAccessReviews are answered with yes. */
  let allowed: readonly string[];
  let failingReviews: number;
  beforeEach(async () => {
    allowed = [];
    failingReviews = 0;
    run = await startController((context) => {
      const create = async (_resource: object, draft: any) => {
        if (failingReviews-- > 0) throw internalError("injected");
        const { subresource } = draft.spec.resourceAttributes;
        return { ...draft, status: { allowed: allowed.includes(subresource) } };
      };
      const client = Object.assign(Object.create(context.client) as Client, { create });
      return runApprovingController({ ...context, client });
    });
  });
  afterEach(() => run.stop());

  async function post(name: string, more: object = {}): Promise<void> {
    const subject = { commonName: "system:node:n", organizations: ["system:nodes"] };
    const { request } = await makeRequest(subject);
    const spec = {
      request: Buffer.from(request).toString("base64"),
      signerName,
      usages: ["digital signature", "client auth"],
      ...more,
    };
    await run.test.post(group, { metadata: { name }, spec });
  }
  const conditionsOf = async (name: string) =>
    (await run.test.get(`${group}//${name}`)).object.status?.conditions;
  const approved = (name: string) => run.until(async () => (await conditionsOf(name))?.[0]);

  it("approves kubelet client certificates of users who may create nodeclient", async () => {
    allowed = ["nodeclient"];
    await post("n");
    const { type, reason, message } = await approved("n");
    assert.deepEqual([type, reason], ["Approved", "AutoApproved"]);
    assert.match(message, /^Auto approving kubelet client certificate after/);
  });

  it("ignores requests of other users, signers and subjects", async () => {
    await post("forbidden");
    await run.until(async () => (await run.test.names(group)).includes("forbidden"));
    allowed = ["nodeclient"];
    await post("signer", { signerName: "kubernetes.io/kube-apiserver-client" });
    await post("usages", { usages: ["server auth"] });
    await post("n");
    await approved("n");
    for (const name of ["signer", "usages"])
      assert.equal(await conditionsOf(name), undefined, name);
  });

  it("retries if the review or the approval fails", async () => {
    allowed = ["nodeclient"];
    failingReviews = 2;
    run.failNext("update", "certificatesigningrequests", 2);
    await post("n");
    await approved("n");
    assert.equal(run.calls("update", "certificatesigningrequests"), 3);
  });
});

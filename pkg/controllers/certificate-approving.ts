import { type ApiObject, type Handle, keyOf } from "#client";
import { resolve } from "#meta";
import {
  certificateRequests,
  type CertificateRequest,
  conditionOf,
  ignoreChanged,
  refusalOf,
  requestText,
  signersOf,
} from "./certificate-requests.ts";
import { type ControllerContext, enqueue, queueOf } from "./context.ts";

interface AccessReview extends ApiObject {
  readonly spec: object;
  readonly status?: { readonly allowed?: boolean };
}

/** Approves the client certificates of kubelets, for those who may ask for them. */
export async function runCertificateApproving(context: ControllerContext): Promise<void> {
  const { client, informers } = context;
  const handle = certificateRequests(client.domain);
  const signers = signersOf(client.domain);
  const queue = queueOf(context, "certificate_approving");
  const requests = informers.of(handle);
  enqueue(queue, requests, ({ type, object }) => (type === "deleted" ? [] : [keyOf(object)]));
  await queue.run(async (name) => {
    const request = requests.get(name);
    if (request === undefined || isDecided(request)) return;
    if (signers.get(request.spec.signerName) !== "kube-apiserver-client-kubelet") return;
    const message = await reasonToApprove(context, request);
    if (message === undefined) return;
    const approved = { type: "Approved", status: "True", reason: "AutoApproved", message };
    const conditions = [...(request.status?.conditions ?? []), approved];
    const changed = { ...request, status: { ...request.status, conditions } };
    await client.update(handle, changed, { subresource: "approval" }).catch(ignoreChanged);
  });
}

function isDecided(request: CertificateRequest): boolean {
  const decisions = ["Approved", "Denied", "Failed"];
  return decisions.some((type) => conditionOf(request, type) !== undefined);
}

/** Undefined = somebody else is to decide. */
async function reasonToApprove(
  context: ControllerContext,
  request: CertificateRequest,
): Promise<string | undefined> {
  const { readRequest } = await import("#pki");
  const { usages = [], username } = request.spec;
  const names = readRequest(requestText(request));
  if (refusalOf("kube-apiserver-client-kubelet", names, usages) !== undefined) return undefined;
  const after = "kubelet client certificate after SubjectAccessReview.";
  // A kubelet that renews its own needs less than one that has none yet.
  if (username === names.commonName && (await mayAsk(context, request, "selfnodeclient"))) {
    return `Auto approving self ${after}`;
  }
  return (await mayAsk(context, request, "nodeclient")) ? `Auto approving ${after}` : undefined;
}

async function mayAsk(
  { client }: ControllerContext,
  { spec }: CertificateRequest,
  subresource: string,
): Promise<boolean> {
  const { domain } = client;
  const reviews: Handle<AccessReview> = {
    group: resolve("authorization.{api}", domain),
    version: "v1",
    plural: "subjectaccessreviews",
    kind: "SubjectAccessReview",
    namespaced: false,
  };
  const { group, plural: resource } = certificateRequests(domain);
  const { username: user, uid, groups, extra } = spec;
  const resourceAttributes = { group, resource, subresource, verb: "create", version: "*" };
  const { status } = await client.create(reviews, {
    metadata: {},
    spec: { user, uid, groups, extra, resourceAttributes },
  });
  return status?.allowed === true;
}

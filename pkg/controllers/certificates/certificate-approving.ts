import type { ApiObject, Handle } from "#client";
import { resolve } from "#meta";
import {
  answerRequests,
  certificateRequests,
  type CertificateRequest,
  conditionOf,
  refusalOf,
  requestText,
  signersOf,
} from "./certificate-requests.ts";
import type { ControllerContext } from "../controller-context.ts";

interface AccessReview extends ApiObject {
  readonly spec: object;
  readonly status?: { readonly allowed?: boolean };
}

/** Approves the client certificates of kubelets, for those who may ask for them. */
export async function runCertificateApproving(context: ControllerContext): Promise<void> {
  const signers = signersOf(context.client.domain);
  const answer = async (request: CertificateRequest): Promise<CertificateRequest["status"]> => {
    if (isDecided(request)) return undefined;
    if (signers.get(request.spec.signerName) !== "kube-apiserver-client-kubelet") return undefined;
    const message = await reasonToApprove(context, request);
    if (message === undefined) return undefined;
    const approved = { type: "Approved", status: "True", reason: "AutoApproved", message };
    return { conditions: [...(request.status?.conditions ?? []), approved] };
  };
  const told = { name: "certificate_approving", subresource: "approval", answer } as const;
  await answerRequests(context, told);
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

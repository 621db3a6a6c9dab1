import type { ApiObject, Handle } from "#client";
import { resolve } from "#meta";
import { readRequest } from "#pki";
import {
  runCertificateController,
  certificateSigningRequests,
  type CertificateSigningRequest,
  conditionOf,
  signerRefusal,
  requestText,
  servedSigners,
} from "./certificate-signing-request.ts";
import type { ControllerContext } from "../controller-context.ts";

interface AccessReview extends ApiObject {
  readonly spec: object;
  readonly status?: { readonly allowed?: boolean };
}

/** csrapproving: approves kubelet client certificates for users that may create them. */
export async function runApprovingController(context: ControllerContext): Promise<void> {
  const signers = servedSigners(context.client.domain);
  const nextStatus = async (
    request: CertificateSigningRequest,
  ): Promise<CertificateSigningRequest["status"]> => {
    if (isDecided(request)) return undefined;
    if (signers.get(request.spec.signerName) !== "kube-apiserver-client-kubelet") return undefined;
    const message = await reasonToApprove(context, request);
    if (message === undefined) return undefined;
    const approved = { type: "Approved", status: "True", reason: "AutoApproved", message };
    return { conditions: [...(request.status?.conditions ?? []), approved] };
  };
  const controller = {
    name: "certificate_approving",
    subresource: "approval",
    nextStatus,
  } as const;
  await runCertificateController(context, controller);
}

function isDecided(request: CertificateSigningRequest): boolean {
  const decisions = ["Approved", "Denied", "Failed"];
  return decisions.some((type) => conditionOf(request, type) !== undefined);
}

/** Message of the approval; undefined = not approved by this controller. */
async function reasonToApprove(
  context: ControllerContext,
  request: CertificateSigningRequest,
): Promise<string | undefined> {
  const { usages = [], username } = request.spec;
  const names = await readRequest(requestText(request));
  if (signerRefusal("kube-apiserver-client-kubelet", names, usages) !== undefined) return undefined;
  const after = "kubelet client certificate after SubjectAccessReview.";
  // A renewal requires `selfnodeclient`, a first certificate `nodeclient`.
  if (username === names.commonName && (await mayAsk(context, request, "selfnodeclient"))) {
    return `Auto approving self ${after}`;
  }
  return (await mayAsk(context, request, "nodeclient")) ? `Auto approving ${after}` : undefined;
}

async function mayAsk(
  { client }: ControllerContext,
  { spec }: CertificateSigningRequest,
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
  const { group, plural: resource } = certificateSigningRequests(domain);
  const { username: user, uid, groups, extra } = spec;
  const resourceAttributes = { group, resource, subresource, verb: "create", version: "*" };
  const { status } = await client.create(reviews, {
    metadata: {},
    spec: { user, uid, groups, extra, resourceAttributes },
  });
  return status?.allowed === true;
}

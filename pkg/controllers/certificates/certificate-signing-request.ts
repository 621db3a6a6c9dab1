/** CertificateSigningRequests and the common code of their controllers. */
import { type ApiObject, type Handle, objectKey } from "#client";
import { type Domain, isConflict, isNotFound, resolve } from "#meta";
import type { RequestedNames } from "#pki";
import { type ControllerContext, enqueueOnChange, newWorkQueue } from "../controller-context.ts";

export interface CertificateSigningRequest extends ApiObject {
  readonly spec: {
    /** PEM, in base64. */
    readonly request: string;
    readonly signerName: string;
    readonly expirationSeconds?: number;
    readonly usages?: readonly string[];
    readonly username?: string;
    readonly uid?: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
  readonly status?: {
    readonly conditions?: readonly RequestCondition[];
    /** PEM, in base64. */
    readonly certificate?: string;
  };
}

interface RequestCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastUpdateTime?: string | null;
}

export function certificateSigningRequests(domain: Domain): Handle<CertificateSigningRequest> {
  const group = resolve("certificates.{api}", domain);
  const plural = "certificatesigningrequests";
  const kind = "CertificateSigningRequest";
  return { group, version: "v1", plural, kind, namespaced: false };
}

/** Decodes `spec.request` (PEM). */
export function requestText({ spec }: CertificateSigningRequest): string {
  return Buffer.from(spec.request, "base64").toString("latin1");
}

export function conditionOf(
  { status }: CertificateSigningRequest,
  type: string,
): RequestCondition | undefined {
  return (status?.conditions ?? []).find((each) => each.type === type);
}

interface CertificateController {
  /** Name of the controller. */
  readonly name: string;
  readonly subresource: "status" | "approval";
  /** The new status; undefined = unchanged. */
  readonly nextStatus: (
    request: CertificateSigningRequest,
  ) => Promise<CertificateSigningRequest["status"]>;
}

/** Runs a controller on all requests until the signal aborts. */
export async function runCertificateController(
  context: ControllerContext,
  { name, subresource, nextStatus }: CertificateController,
): Promise<void> {
  const { client, informers } = context;
  const handle = certificateSigningRequests(client.domain);
  const queue = newWorkQueue(context, name);
  const requests = informers.of(handle);
  enqueueOnChange(queue, requests, ({ type, object }) =>
    type === "deleted" ? [] : [objectKey(object)],
  );
  await queue.run(async (key) => {
    const request = requests.get(key);
    const status = request && (await nextStatus(request));
    if (request === undefined || status === undefined) return;
    const updated = { ...request, status: { ...request.status, ...status } };
    await client.update(handle, updated, { subresource }).catch(ignoreChanged);
  });
}

/** Ignores 404 and 409: the informer event requeues a changed request. */
function ignoreChanged(error: unknown): void {
  if (!isConflict(error) && !isNotFound(error)) throw error;
}

export type Signer = "kube-apiserver-client" | "kube-apiserver-client-kubelet" | "kubelet-serving";

/** The built-in signers by name. */
export function servedSigners(domain: Domain): ReadonlyMap<string, Signer> {
  const signers = ["kube-apiserver-client", "kube-apiserver-client-kubelet", "kubelet-serving"];
  return new Map(
    (signers as readonly Signer[]).map((name) => [resolve(`{label}/${name}`, domain), name]),
  );
}

const common = ["digital signature", "key encipherment"];

/** Reason why a signer rejects a request; undefined = it signs. */
export function signerRefusal(
  signer: Signer,
  names: RequestedNames,
  usages: readonly string[],
): string | undefined {
  const purpose = signer === "kubelet-serving" ? "server auth" : "client auth";
  const strange = usages.filter((usage) => usage !== purpose && !common.includes(usage));
  if (strange.length > 0) return `usages are not allowed: ${strange.join(", ")}`;
  if (!usages.includes(purpose)) return `usages must have ${purpose}`;
  if (signer === "kube-apiserver-client") return undefined;
  if (!usages.includes("digital signature")) return "usages must have digital signature";
  return kubeletRefusal(signer, names);
}

/** Rules for the subject and the alternative names of kubelets. */
function kubeletRefusal(signer: Signer, names: RequestedNames): string | undefined {
  const { commonName, organizations, alternativeNames } = names;
  if (organizations.length !== 1 || organizations[0] !== "system:nodes") {
    return "the organization of the subject must be system:nodes";
  }
  if (!commonName.startsWith("system:node:")) {
    return "the common name of the subject must start with system:node:";
  }
  const isServing = signer === "kubelet-serving";
  const allowed = isServing ? ["dns", "ip"] : [];
  const strange = alternativeNames.find(({ type }) => !allowed.includes(type));
  if (strange !== undefined) return `alternative names of the type ${strange.type} are not allowed`;
  if (isServing && alternativeNames.length === 0) {
    return "there must be a DNS name or an IP address among the alternative names";
  }
  return undefined;
}

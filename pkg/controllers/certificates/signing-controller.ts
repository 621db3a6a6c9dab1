import { realClock } from "#base";
import { type KeyPair, readRequest, signRequest } from "#pki";
import {
  runCertificateController,
  type CertificateSigningRequest,
  conditionOf,
  signerRefusal,
  requestText,
  type Signer,
  servedSigners,
} from "./certificate-signing-request.ts";
import type { ControllerContext } from "../controller-context.ts";

export interface SigningSettings {
  readonly authority: KeyPair;
  /** Maximum validity of a certificate. */
  readonly durationMs: number;
}

/** notBefore is this many ms in the past, to allow for clock skew. */
const backdateMs = 300_000;
const shortestMs = 600_000;

/** csrsigning: signs approved requests, and sets condition Failed on those that the signer rejects. */
export async function runSigningController(
  context: ControllerContext,
  settings: SigningSettings,
): Promise<void> {
  const signers = servedSigners(context.client.domain);
  const nextStatus = async (
    request: CertificateSigningRequest,
  ): Promise<CertificateSigningRequest["status"]> => {
    const signer = signers.get(request.spec.signerName);
    if (signer === undefined || !isWaiting(request)) return undefined;
    return signingStatus(request, { ...settings, signer, now: realClock(context.clock).now() });
  };
  await runCertificateController(context, {
    name: "certificate_signing",
    subresource: "status",
    nextStatus,
  });
}

/** Whether a request is approved, and neither signed nor failed. */
function isWaiting(request: CertificateSigningRequest): boolean {
  if (request.status?.certificate) return false;
  const has = (type: string) => conditionOf(request, type) !== undefined;
  return has("Approved") && !has("Denied") && !has("Failed");
}

interface Answering extends SigningSettings {
  readonly signer: Signer;
  readonly now: number;
}

async function signingStatus(
  request: CertificateSigningRequest,
  { authority, durationMs, signer, now }: Answering,
): Promise<CertificateSigningRequest["status"]> {
  const text = requestText(request);
  const { usages = [], expirationSeconds } = request.spec;
  const refusal = signerRefusal(signer, await readRequest(text), usages);
  if (refusal !== undefined) {
    const failed = { type: "Failed", status: "True", reason: "SignerValidationFailure" };
    const conditions = request.status?.conditions ?? [];
    return { conditions: [...conditions, { ...failed, message: refusal }] };
  }
  const wantedMs = expirationSeconds === undefined ? durationMs : expirationSeconds * 1000;
  const certificate = await signRequest(authority, {
    request: text,
    usages,
    notBefore: now - backdateMs,
    notAfter: now + Math.min(durationMs, Math.max(shortestMs, wantedMs)),
  });
  return { certificate: Buffer.from(certificate).toString("base64") };
}

import { X509Certificate } from "node:crypto";
import { type Clock, idleWhile, realClock } from "#base";
import { ignoreNotFound, isConflict } from "#meta";
import {
  certificateSigningRequests,
  type CertificateSigningRequest,
  conditionOf,
} from "./certificate-signing-request.ts";
import type { ControllerContext } from "../controller-context.ts";

const hourMs = 3_600_000;
const intervalMs = hourMs;
/** Retention of denied, failed and signed requests. */
const decidedMs = hourMs;
/** Retention of pending requests, and of approved but unsigned ones. */
const waitingMs = 24 * hourMs;

/** csrcleaner: deletes old CertificateSigningRequests. */
export async function runCleanerController(context: ControllerContext): Promise<void> {
  const { client, clock, informers, signal, report } = context;
  const handle = certificateSigningRequests(client.domain);
  const requests = informers.of(handle);
  await requests.untilSynced();
  const pause = idleWhile(() => requests.size === 0);
  while (!signal.aborted) {
    const over = [...requests.all()].filter((request) => isOver(request, clock));
    for (const { metadata } of over) {
      const { name, uid, resourceVersion } = metadata;
      await client
        .delete(handle, { name }, { preconditions: { uid, resourceVersion } })
        .catch(ignoreNotFound)
        .catch((error: unknown) => {
          if (!isConflict(error))
            report(`Failed to delete CertificateSigningRequest ${name}`, error);
        });
    }
    await clock.sleep(intervalMs, signal, pause).catch(() => undefined);
  }
}

function isOver(request: CertificateSigningRequest, clock: Clock): boolean {
  const { metadata, status } = request;
  const age = (moment: string | null | undefined) => clock.now() - Date.parse(moment ?? "");
  const ended = conditionOf(request, "Denied") ?? conditionOf(request, "Failed");
  if (ended !== undefined && age(ended.lastUpdateTime) > decidedMs) return true;
  const approved = conditionOf(request, "Approved");
  if (status?.certificate && approved !== undefined) {
    return (
      age(approved.lastUpdateTime) > decidedMs ||
      hasExpired(status.certificate, realClock(clock).now())
    );
  }
  return ended === undefined && age(metadata.creationTimestamp) > waitingMs;
}

function hasExpired(certificate: string, now: number): boolean {
  return Date.parse(new X509Certificate(Buffer.from(certificate, "base64")).validTo) < now;
}

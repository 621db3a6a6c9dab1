/** Audit logging, as the start options configure it. */
import { auditMetrics, type AuditorOptions, type RunningAuditor, startAuditor } from "#audit";
import { type Clock, realClock } from "#base";
import { ConfigurationFault, type Domain } from "#meta";
import type { Auditor, Tracer } from "#request";
import type { PrometheusMetrics } from "#server";
import type { StartOptions } from "../options.ts";

interface AuditParts {
  readonly domain: Domain;
  readonly clock: Clock;
  readonly metrics: PrometheusMetrics;
  readonly report: (what: string, error: unknown) => void;
  readonly tracer: Tracer;
}

export interface Auditing {
  /** Undefined = auditing is disabled. */
  readonly auditor: Auditor | undefined;
  /** Flushes buffered events. */
  readonly close: () => Promise<void>;
}

/** Time limit in ms for sending the last events to the webhook at shutdown. */
const lastEventsMs = 10_000;

/** @throws ConfigurationFault */
export async function buildAuditing(
  { audit }: StartOptions,
  { domain, clock: given, metrics, report, tracer }: AuditParts,
): Promise<Auditing> {
  metrics.instruments.define(auditMetrics);
  if (audit === undefined) return { auditor: undefined, close: async () => undefined };
  const { instruments } = metrics;
  const onFault = (error: unknown) => report("Failed to write audit events", error);
  const clock = realClock(given);
  const parts = { domain, clock, instruments, tracer, report: onFault };
  const auditor = await started({ ...audit, ...parts });
  return { auditor, close: () => auditor.close(lastEventsMs) };
}

async function started(options: AuditorOptions): Promise<RunningAuditor> {
  try {
    return await startAuditor(options);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (error instanceof ConfigurationFault) {
      throw new ConfigurationFault(`--audit-policy-file: ${error.message}`);
    }
    if (code === "") throw error;
    throw new ConfigurationFault(`--audit-log-path: cannot open the audit log (${code})`);
  }
}

/** The record of requests, as start options ask for it. */
import { auditMetrics, type AuditorOptions, type RunningAuditor, startAuditor } from "#audit";
import type { Clock } from "#base";
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
  /** Absent = nothing is recorded. */
  readonly auditor: Auditor | undefined;
  /** Keeps what is recorded and not kept yet. */
  readonly close: () => Promise<void>;
}

/** How long a webhook may take for the last events. */
const lastEventsMs = 10_000;

/** @throws ConfigurationFault */
export async function buildAuditing(
  { audit }: StartOptions,
  { domain, clock, metrics, report, tracer }: AuditParts,
): Promise<Auditing> {
  metrics.instruments.define(auditMetrics);
  if (audit === undefined) return { auditor: undefined, close: async () => undefined };
  const { instruments } = metrics;
  const tell = (error: unknown) => report("audit", error);
  const parts = { domain, clock, instruments, tracer, report: tell };
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
    throw new ConfigurationFault(`the audit log cannot be opened (${code})`);
  }
}

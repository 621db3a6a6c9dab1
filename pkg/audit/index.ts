/** audit: audit policies, events and backends. */
export {
  type AuditMode,
  auditMetrics,
  type AuditorOptions,
  type LogDelivery,
  type RunningAuditor,
  startAuditor,
  type WebhookDelivery,
} from "./auditor.ts";

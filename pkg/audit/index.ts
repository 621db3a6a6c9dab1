/** audit: the record of requests: policies, events, and where they are kept. */
export {
  type AuditMode,
  auditMetrics,
  type AuditorOptions,
  type LogDelivery,
  type RunningAuditor,
  startAuditor,
  type WebhookDelivery,
} from "./auditor.ts";

/** scheduler: assigns pods to nodes like kube-scheduler. */
export { withoutUnreadFields } from "./cache/unread-fields.ts";
export { defaultSchedulerSettings } from "./configuration/defaults.ts";
export { parseSchedulerConfiguration, type SchedulerConfiguration } from "./configuration/parse.ts";
export type { SchedulerSettings } from "./configuration/profile.ts";
export { schedulerMetrics } from "./metrics.ts";
export { runScheduler } from "./scheduler.ts";

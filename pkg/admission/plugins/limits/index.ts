/** plugins/limits: LimitRanges, quotas and rates. */
export { eventRateLimit } from "./event-rate-limit.ts";
export { limitRanger } from "./limit-ranger.ts";
export { resourceQuota } from "./resource-quota.ts";

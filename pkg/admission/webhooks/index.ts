/** webhooks: dynamic admission webhooks. */
export { Webhooks } from "./webhooks.ts";

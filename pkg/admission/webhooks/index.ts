/** webhooks: servers elsewhere that change or refuse requests. */
export { Webhooks } from "./webhooks.ts";

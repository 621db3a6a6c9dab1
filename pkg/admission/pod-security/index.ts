/** pod-security: pods conform to what their namespace asks for. */
export { laxDefaults, type PodSecurityDefaults, podSecurity } from "./plugin.ts";

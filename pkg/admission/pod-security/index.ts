/** pod-security: pods conform to what their namespace asks for. */
export { podSecurityIn } from "./configuration.ts";
export { laxDefaults, type PodSecurityDefaults, podSecurity } from "./plugin.ts";

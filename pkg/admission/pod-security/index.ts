/** pod-security: pods conform to what their namespace asks for. */
export { levelOf, minorOf, type Standard } from "./policy.ts";
export { laxDefaults, type PodSecurityDefaults, podSecurity } from "./plugin.ts";

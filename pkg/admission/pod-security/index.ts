/** pod-security: the PodSecurity plugin and the Pod Security Standards. */
export { podSecurity } from "./pod-security.ts";

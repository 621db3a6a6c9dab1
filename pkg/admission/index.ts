/** admission: admission plugins, webhooks and policies, which mutate or reject writes. */
export { type Admission, type AdmissionOptions, createAdmission } from "./admission.ts";
export {
  type AdmissionConfiguration,
  parseAdmissionConfiguration,
} from "./configuration/configuration.ts";
export {
  type AdmissionPluginFlags,
  AdmissionPluginError,
  enabledPlugins,
} from "./enabled-plugins.ts";
export { admissionMetrics } from "./metrics.ts";
export type { AccessChecks } from "./plugin.ts";

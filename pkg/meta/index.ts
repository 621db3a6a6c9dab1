/** meta: what every object shares. */
export {
  type Domain,
  domainOf,
  goModules,
  kubernetes,
  openApiName,
  protoPackage,
  resolve,
} from "./domain.ts";
export * from "./kind.ts";
export { Catalog, groupVersionOf, type Resource, resourceOf } from "./catalog.ts";
export { compareVersions } from "./version-order.ts";
export * from "./status.ts";
export {
  duration,
  fieldsV1,
  intOrString,
  microTime,
  quantity,
  rawExtension,
  time,
} from "./scalars.ts";
export { formatDuration, parseDuration } from "./go-duration.ts";
export { formatMicros, formatSeconds, type Instant, parseMicros, parseSeconds } from "./go-time.ts";
export { Quantity, QuantityFault } from "./quantity.ts";
export {
  type Condition,
  condition,
  labelSelector,
  type LabelSelector,
  listMeta,
  objectMeta,
  type ObjectMeta,
} from "./object-meta.ts";
export * from "./status-errors.ts";
export { goQuote } from "./go-quote.ts";
export { escapedForHtml as escapeHtml } from "#schema";
export { printJson } from "#base";
export * from "./names.ts";
export {
  checkAnnotations,
  checkLabels,
  checkManager,
  checkObjectMeta,
  checkObjectMetaUpdate,
} from "./validate-meta.ts";
export { ConfigurationFault, decodeConfiguration, refuseProblems } from "./configuration-file.ts";
export { parseYaml, YamlFault } from "./yaml.ts";
export { printYaml } from "./yaml-print.ts";
export {
  checkLabelSelector,
  everything,
  nothing,
  parseLabelSelector,
  selectorFromLabelSelector,
} from "./label-selector.ts";
export { parseFieldSelector } from "./field-selector.ts";
export { PatchFault } from "./patch-fault.ts";
export { jsonPatch } from "./json-patch.ts";
export { mergePatch } from "./merge-patch.ts";
export { strategicMergePatch } from "./strategic-merge.ts";
export { goTypeOf, goValue } from "./go-value.ts";

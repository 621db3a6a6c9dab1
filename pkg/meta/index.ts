/** meta: what every object shares. */
export { type Domain, domainOf, kubernetes, openApiName, protoPackage, resolve } from "./domain.ts";
export * from "./kind.ts";
export { Catalog, groupVersionOf, type Resource } from "./catalog.ts";
export { type Status, type StatusCause, type StatusDetails, StatusError } from "./status.ts";
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
export { Quantity, QuantityFault, type QuantityFormat } from "./quantity.ts";
export {
  type ApiObject,
  type Condition,
  condition,
  labelSelector,
  type LabelSelector,
  labelSelectorRequirement,
  listMeta,
  type ListMeta,
  managedFieldsEntry,
  objectMeta,
  type ObjectMeta,
  ownerReference,
} from "./object-meta.ts";
export * from "./status-errors.ts";
export { goQuote } from "./go-quote.ts";
export { escapedForHtml as escapeHtml } from "#schema";
export { printJson } from "./json-text.ts";
export * from "./names.ts";
export {
  checkAnnotations,
  checkLabels,
  checkManager,
  checkObjectMeta,
  checkObjectMetaUpdate,
  type ObjectMetaOptions,
} from "./validate-meta.ts";
export { parseYaml, type ParsedYaml, YamlFault } from "./yaml.ts";
export { printYaml } from "./yaml-print.ts";
export {
  checkLabelSelector,
  everything,
  type LabelOperator,
  type LabelRequirement,
  type LabelSelection,
  nothing,
  parseLabelSelector,
  selectorFromLabelSelector,
} from "./label-selector.ts";
export {
  type FieldRequirement,
  type FieldSelection,
  parseFieldSelector,
} from "./field-selector.ts";
export { PatchFault } from "./patch-fault.ts";
export { jsonPatch, type PatchOperation } from "./json-patch.ts";
export { mergePatch } from "./merge-patch.ts";
export { strategicMergePatch } from "./strategic-merge.ts";
export { goTypeOf, goValue } from "./go-value.ts";

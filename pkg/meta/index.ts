/** meta: metadata, kinds, scalars, selectors, patches, Status and YAML. */
export {
  type Domain,
  domainOf,
  goModules,
  kubernetes,
  metaGroupOf,
  openApiName,
  protoPackage,
  resolve,
} from "./kind/domain.ts";
export * from "./kind/kind.ts";
export { Catalog, groupVersionOf, type Resource, resourceOf } from "./kind/catalog.ts";
export { compareVersions } from "./kind/version-order.ts";
export * from "./status/status.ts";
export {
  duration,
  fieldsV1,
  intOrString,
  microTime,
  quantity,
  rawExtension,
  time,
  uid,
} from "./scalar/scalars.ts";
export { formatDuration, parseDuration } from "./scalar/go-duration.ts";
export {
  formatMicros,
  formatSeconds,
  type Instant,
  parseMicros,
  parseSeconds,
} from "./scalar/go-time.ts";
export { Quantity, QuantityFault, quantitySuffix } from "./scalar/quantity.ts";
export {
  type Condition,
  condition,
  labelSelector,
  type LabelSelector,
  listMeta,
  objectMeta,
  type ObjectMeta,
} from "./object/object-meta.ts";
export * from "./status/status-errors.ts";
export {
  decodedPath,
  formatUrl,
  parseRequestUrl,
  parseUrl,
  UrlFault,
  type UrlParts,
} from "./encoding/go-url.ts";
export { goQuote } from "./encoding/go-quote.ts";
export { escapedForHtml as escapeHtml } from "#schema";
export { printJson } from "#base";
export * from "./object/names.ts";
export {
  checkAnnotations,
  checkLabels,
  checkManager,
  checkObjectMeta,
  checkObjectMetaUpdate,
  checkQualifiedFinalizers,
  objectMetaChecks,
  objectMetaUpdateChecks,
} from "./object/validate-meta.ts";
export {
  ConfigurationFault,
  decodeConfiguration,
  refuseProblems,
} from "./encoding/configuration-file.ts";
export {
  parseAhead,
  parseJsonRequest,
  parseYamlRequest,
  requestBounds,
  withinBounds,
} from "./encoding/request-body.ts";
export { parseYaml, YamlFault } from "./encoding/yaml.ts";
export { printYaml, printYamlInSlices } from "./encoding/yaml-print.ts";
export {
  checkLabelSelector,
  everything,
  nothing,
  parseLabelSelector,
  selectorFromLabelSelector,
} from "./selector/label-selector.ts";
export { parseFieldSelector } from "./selector/field-selector.ts";
export { PatchFault } from "./patch/patch-fault.ts";
export { jsonPatch, jsonPatchInSlices } from "./patch/json-patch.ts";
export { mergePatchInSlices } from "./patch/merge-patch.ts";
export { strategicMergePatchInSlices } from "./patch/strategic-merge.ts";
export { patchedText } from "./patch/patched-text.ts";
export { goTypeOf, goValue } from "./patch/go-value.ts";

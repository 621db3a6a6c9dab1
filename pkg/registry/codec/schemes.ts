import { type Catalog, goModules, type Resource, resolve } from "#meta";
import type { NamedKind } from "./removed-versions.ts";

/**
 * A scheme of kube-apiserver: the kinds that one of its decoders knows. Built-in kinds, definitions and
 * APIServices are decoded by three schemes, which do not know each other's kinds; options of deletions
 * by a fourth one.
 */
export interface Scheme {
  /** Go file and line that declare it, which messages name. */
  readonly source: string;
  /** Template of its only API group; absent: all groups of built-in kinds without a scheme of their own. */
  readonly group?: string;
  /** Kinds that it knows in every version. */
  readonly unversioned: readonly string[];
  /** Kinds without a resource, by the group and version that they are known in. */
  readonly others: ReadonlyMap<string, readonly string[]>;
}

/** Kinds of responses; every scheme registers them without a version. */
const responseKinds = ["Status", "APIVersions", "APIGroupList", "APIGroup", "APIResourceList"];

/** Kinds that schemes register in each of their versions. */
const kindsOfVersions = [
  "WatchEvent",
  "ListOptions",
  "GetOptions",
  "DeleteOptions",
  "CreateOptions",
  "UpdateOptions",
  "PatchOptions",
];

/** Kinds of core/v1 that are no resources: lists, options of connections, and what annotations hold. */
const coreKinds = [
  ...kindsOfVersions,
  "List",
  "PodLogOptions",
  "PodExecOptions",
  "PodAttachOptions",
  "PodPortForwardOptions",
  "PodProxyOptions",
  "NodeProxyOptions",
  "ServiceProxyOptions",
  "PodStatusResult",
  "SerializedReference",
  "RangeAllocation",
];

const legacyScheme: Scheme = {
  source: "pkg/api/legacyscheme/scheme.go:30",
  unversioned: responseKinds,
  others: new Map([
    ["v1", coreKinds],
    ["admission.{api}/v1", ["AdmissionReview"]],
    ["admission.{api}/v1beta1", ["AdmissionReview"]],
    ["imagepolicy.{api}/v1alpha1", ["ImageReview"]],
  ]),
};

const definitionsGroup = "apiextensions.{api}";
const definitionsScheme: Scheme = {
  source: `${goModules}/apiextensions-apiserver/pkg/apiserver/apiserver.go:55`,
  group: definitionsGroup,
  unversioned: [...responseKinds, "WatchEvent"],
  others: new Map([
    ["v1", kindsOfVersions],
    [`${definitionsGroup}/v1`, ["ConversionReview"]],
  ]),
};

const aggregatorGroup = "apiregistration.{api}";
const aggregatorScheme: Scheme = {
  source: `${goModules}/kube-aggregator/pkg/apiserver/scheme/scheme.go:28`,
  group: aggregatorGroup,
  unversioned: responseKinds,
  others: new Map([["v1", kindsOfVersions]]),
};

const optionsGroup = "meta.{api}";
const viewKinds = ["Table", "TableOptions", "PartialObjectMetadata", "PartialObjectMetadataList"];

/** Decodes DeleteOptions, which it knows in every version. */
export const optionsScheme: Scheme = {
  source: `${goModules}/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27`,
  group: optionsGroup,
  unversioned: [...responseKinds, "DeleteOptions", "CreateOptions", "UpdateOptions"],
  others: new Map([
    [`${optionsGroup}/v1`, [...kindsOfVersions, ...viewKinds]],
    [`${optionsGroup}/v1beta1`, viewKinds],
  ]),
};

const schemes = [definitionsScheme, aggregatorScheme];

/** The scheme that decodes bodies of a resource. */
export function schemeOf({ kind }: Resource): Scheme {
  return schemes.find(({ group }) => group === kind.group) ?? legacyScheme;
}

/** Whether a scheme knows a kind that has no resource. */
export function hasOtherKind(scheme: Scheme, catalog: Catalog, typeMeta: NamedKind): boolean {
  const { kind, apiVersion } = typeMeta;
  if (scheme.unversioned.includes(kind)) return true;
  for (const [groupVersion, kinds] of scheme.others) {
    if (resolve(groupVersion, catalog.domain) === apiVersion && kinds.includes(kind)) return true;
  }
  if (!isCommonKind(scheme, kind)) return false;
  const [group = ""] = apiVersion.includes("/") ? apiVersion.split("/") : [];
  return catalog
    .inGroup(group)
    .some((each) => each.groupVersion === apiVersion && isDecodedBy(scheme, each));
}

/** Whether a kind is the same in all groups and versions: Go declares it in a package v1. */
export function isCommonKind({ unversioned }: Scheme, kind: string): boolean {
  return unversioned.includes(kind) || kindsOfVersions.includes(kind);
}

/** Whether a resource's kind is in the scheme; kinds of definitions are in none. */
export function isDecodedBy(scheme: Scheme, resource: Resource): boolean {
  return resource.kind.custom === undefined && schemeOf(resource) === scheme;
}

/** The texts that `kubectl explain` and the OpenAPI documents print of every kind and field. */
import assert from "node:assert/strict";
import * as api from "#api";
import { type Field, resolved, type ScalarType, type StructType, type Type } from "#schema";
import { featureStages } from "./features/feature-gates.ts";

type Named = StructType<any> | ScalarType<any>;

interface Described {
  /** `api/apps/v1.DeploymentSpec.replicas` */
  readonly path: string;
  readonly field: Field;
  readonly parent: StructType<any>;
}

const named = new Map<string, Named>();
const fields: Described[] = [];

function visit(given: Type): void {
  const type = resolved(given);
  if (type.tag === "list") return visit(type.element);
  if (type.tag === "map") return visit(type.value);
  if (type.tag !== "struct" && type.tag !== "scalar") return;
  const path = `${type.package}.${type.name}`;
  if (named.has(path)) return;
  named.set(path, type);
  if (type.tag === "scalar") return;
  for (const [name, field] of Object.entries<Field>(type.fields)) {
    fields.push({ path: `${path}.${name}`, field, parent: type });
    visit(field.type);
  }
}

function isStruct(value: unknown): value is StructType<any> {
  return typeof value === "object" && value !== null && "tag" in value && value.tag === "struct";
}

/** What the list, map or field holds in the end. */
function innermost(given: Type): Exclude<Type, { readonly tag: "lazy" }> {
  const type = resolved(given);
  if (type.tag === "list") return innermost(type.element);
  return type.tag === "map" ? innermost(type.value) : type;
}

const sentences = (text: string): readonly string[] =>
  text.split(/(?<=\.)\s+(?=[A-Z`"0-9])/).map((sentence) => sentence.trim());

/** Remarks of a fixed form, which struct and field may both make. */
const remark = /^(Immutable|Required|Read-only|Deprecated|Linux only|Alpha|Beta)\b/;

const remarkless = (text: string) => sentences(text).filter((sentence) => !remark.test(sentence));

const texts = (): readonly (readonly [path: string, text: string])[] => [
  ...[...named].map(([path, { doc }]) => [path, doc] as const),
  ...fields.map(({ path, field }) => [path, field.doc] as const),
];

/** Paths of the fields that the condition finds fault with. */
const faulty = (isFaulty: (described: Described) => boolean): readonly string[] =>
  fields.filter(isFaulty).map(({ path, field }) => `${path}: ${field.doc}`);

/** How a description writes a default: without the quotes of strings, lists by their elements. */
function written(value: unknown): readonly string[] {
  if (value === "") return ['""'];
  if (Array.isArray(value)) return value.flatMap(written);
  if (typeof value !== "object" || value === null) return [String(value)];
  const members = Object.values(value);
  return members.length === 0 ? ["{}"] : members.flatMap(written);
}

function namesDefault({ doc, default: fallback }: Field): boolean {
  const told = sentences(doc)
    .filter((sentence) => /default/i.test(sentence))
    .join(" ");
  return written(fallback).every((value) => told.includes(value));
}

/** Limit of values that a description lists; beyond it, examples are enough. */
const maxValues = 25;

function namesValues({ doc }: Field, values: readonly string[]): boolean {
  if (values.length <= maxValues) return values.every((value) => doc.includes(value));
  return doc.includes("for example") && values.some((value) => doc.includes(value));
}

/** Fields whose change validation refuses on update. */
const immutable = [
  "api/apps/v1.ControllerRevision.data",
  "api/apps/v1.DaemonSetSpec.selector",
  "api/apps/v1.DeploymentSpec.selector",
  "api/apps/v1.ReplicaSetSpec.selector",
  "api/apps/v1.StatefulSetSpec.podManagementPolicy",
  "api/apps/v1.StatefulSetSpec.selector",
  "api/apps/v1.StatefulSetSpec.serviceName",
  "api/apps/v1.StatefulSetSpec.volumeClaimTemplates",
  "api/batch/v1.JobSpec.backoffLimitPerIndex",
  "api/batch/v1.JobSpec.completionMode",
  "api/batch/v1.JobSpec.completions",
  "api/batch/v1.JobSpec.managedBy",
  "api/batch/v1.JobSpec.podFailurePolicy",
  "api/batch/v1.JobSpec.selector",
  "api/batch/v1.JobSpec.successPolicy",
  "api/batch/v1.JobSpec.template",
  "api/coordination/v1beta1.LeaseCandidateSpec.leaseName",
  "api/core/v1.PersistentVolumeClaimSpec.accessModes",
  "api/core/v1.PersistentVolumeClaimSpec.volumeMode",
  "api/core/v1.PersistentVolumeSpec.nodeAffinity",
  "api/core/v1.PersistentVolumeSpec.volumeMode",
  "api/core/v1.PodSpec.hostNetwork",
  "api/core/v1.PodSpec.nodeName",
  "api/core/v1.PodStatus.qosClass",
  "api/core/v1.ResourceQuotaSpec.scopes",
  "api/core/v1.Secret.type",
  "api/core/v1.ServiceSpec.clusterIP",
  "api/discovery/v1.EndpointSlice.addressType",
  "api/networking/v1.IPAddressSpec.parentRef",
  "api/networking/v1.IngressClassSpec.controller",
  "api/networking/v1.ServiceCIDRSpec.cidrs",
  "api/node/v1.RuntimeClass.handler",
  "api/rbac/v1.ClusterRoleBinding.roleRef",
  "api/rbac/v1.RoleBinding.roleRef",
  "api/resource/v1.ResourceClaim.spec",
  "api/resource/v1.ResourceClaimTemplate.spec",
  "api/resource/v1.ResourcePool.name",
  "api/resource/v1.ResourceSliceSpec.driver",
  "api/resource/v1.ResourceSliceSpec.nodeName",
  "api/scheduling/v1.PriorityClass.preemptionPolicy",
  "api/scheduling/v1.PriorityClass.value",
  "api/storage/v1.CSIDriverSpec.attachRequired",
  "api/storage/v1.CSIDriverSpec.volumeLifecycleModes",
  "api/storage/v1.CSIStorageCapacity.nodeTopology",
  "api/storage/v1.CSIStorageCapacity.storageClassName",
  "api/storage/v1.StorageClass.parameters",
  "api/storage/v1.StorageClass.provisioner",
  "api/storage/v1.StorageClass.reclaimPolicy",
  "api/storage/v1.StorageClass.volumeBindingMode",
  "api/storage/v1.VolumeAttributesClass.driverName",
  "api/storage/v1.VolumeAttributesClass.parameters",
  "apiextensions-apiserver/pkg/apis/apiextensions/v1.CustomResourceDefinitionNames.plural",
  "apiextensions-apiserver/pkg/apis/apiextensions/v1.CustomResourceDefinitionSpec.group",
  "apiextensions-apiserver/pkg/apis/apiextensions/v1.CustomResourceDefinitionSpec.scope",
];

describe("descriptions", () => {
  before(() => {
    for (const kind of api.builtinKinds) {
      for (const { struct } of [...kind.versions, ...(kind.readableVersions ?? [])]) visit(struct);
      for (const { represents } of kind.subresources) {
        if (represents?.struct !== undefined) visit(represents.struct);
      }
    }
    for (const { struct } of api.wireKinds) visit(struct);
    for (const value of Object.values(api)) if (isStruct(value)) visit(value);
    assert.ok(fields.length > 2000, `${fields.length} fields`);
  });

  it("are sentences of at least 20 characters on a single line", () => {
    const faults = texts().filter(([, text]) => !/^\S.{18,}\.$/.test(text) || / {2}/.test(text));
    assert.deepEqual(faults, []);
  });

  it("name the actor", () => {
    const vague = /\b(whoever|nobody|somebody|someone|everybody|anew|those who)\b/i;
    assert.deepEqual(
      texts().filter(([, text]) => vague.test(text)),
      [],
    );
  });

  it('speak Kubernetes\' terms, with examples behind "for example"', () => {
    const foreign =
      /^(Who|Where)\b|\b(excludes|exclude each other|is meant|gives? back|lies?|things?)\b/i;
    const trailing = /[`\w] for example[.,:;]/;
    assert.deepEqual(
      texts().filter(([, text]) => foreign.test(text) || trailing.test(text)),
      [],
    );
  });

  it("say nothing twice: neither in one text nor in those of a field, its struct and its type", () => {
    const repeated = texts().filter(
      ([, text]) => new Set(sentences(text)).size < sentences(text).length,
    );
    assert.deepEqual(repeated, []);
    const faults = faulty(({ field, parent }) => {
      const type = innermost(field.type);
      const others = [parent, ...(type.tag === "struct" || type.tag === "scalar" ? [type] : [])];
      const said = new Set(others.flatMap(({ doc }) => remarkless(doc)));
      return remarkless(field.doc).some((sentence) => said.has(sentence));
    });
    assert.deepEqual(faults, []);
  });

  it("tell the fields of one struct apart", () => {
    const seen = new Map<StructType<any>, Set<string>>();
    const faults = faulty(({ field, parent }) => {
      const before = seen.get(parent) ?? new Set<string>();
      seen.set(parent, before);
      return before.size === before.add(field.doc).size;
    });
    assert.deepEqual(faults, []);
  });

  it("name the allowed values", () => {
    const faults = faulty(({ field }) => {
      const type = innermost(field.type);
      return type.tag === "string" && type.values !== undefined && !namesValues(field, type.values);
    });
    assert.deepEqual(faults, []);
  });

  it("name the default", () => {
    assert.deepEqual(
      faulty(({ field }) => field.default !== undefined && !namesDefault(field)),
      [],
    );
  });

  it("name the feature gate of alpha and beta fields, and its stage", () => {
    const stages = featureStages();
    const faults = faulty(({ field: { gate = "", doc } }) => {
      const stage = stages.get(gate);
      if (stage !== "alpha" && stage !== "beta") return false;
      return !new RegExp(`\\b${stage}\\b.*\\b${gate}\\b`, "i").test(doc);
    });
    assert.deepEqual(faults, []);
  });

  it("tell which fields updates may not change", () => {
    const byPath = new Map(fields.map(({ path, field }) => [path, field.doc]));
    const silent = immutable.filter((path) => !/\bImmutable\b/.test(byPath.get(path) ?? ""));
    assert.deepEqual(silent, []);
  });
});

import {
  builtinKinds,
  type CheckedPolicy,
  type CustomResourceDefinition,
  customType,
  maxCheckedKinds,
  type TypedResource,
  typedResources,
  typeWarnings,
} from "#api";
import { memoize } from "#base";
import type { StructuralSchema } from "#cel";
import type { ApiObject, Client, Handle } from "#client";
import { type Domain, isConflict, isNotFound, resolve } from "#meta";
import {
  statusCodeOf,
  type ControllerContext,
  enqueueOnChange,
  newWorkQueue,
} from "../controller-context.ts";

interface ValidatingPolicy extends ApiObject {
  readonly metadata: ApiObject["metadata"] & { readonly generation?: number | bigint };
  readonly spec: CheckedPolicy;
  readonly status?: { readonly observedGeneration?: number | bigint };
}

interface Definition extends ApiObject {
  readonly spec: CustomResourceDefinition["spec"];
}

/**
 * Type-checks the expressions of ValidatingAdmissionPolicies against the resources that they match,
 * and writes warnings to the status. Policies are enforced regardless of the result.
 */
export async function runValidatingAdmissionPolicyStatus(
  context: ControllerContext,
): Promise<void> {
  const { client, informers } = context;
  const group = resolve("admissionregistration.{api}", client.domain);
  const names = { plural: "validatingadmissionpolicies", kind: "ValidatingAdmissionPolicy" };
  const resource: Handle<ValidatingPolicy> = { group, version: "v1", ...names, namespaced: false };
  const policies = informers.of(resource);
  const queue = newWorkQueue(context, "validating-admission-policy-status");
  enqueueOnChange(queue, policies, ({ object }) => [object.metadata.name]);
  await queue.run(async (name) => {
    const policy = policies.get(name);
    if (policy === undefined) return;
    const { generation = 0, uid, resourceVersion } = policy.metadata;
    if (BigInt(policy.status?.observedGeneration ?? 0) >= BigInt(generation)) return;
    const resources = [...builtinTypes(client.domain), ...(await customTypes(client, policy.spec))];
    const warnings = typeWarnings(policy.spec, resources);
    // null: a merge patch must remove the warnings of an earlier generation.
    const typeChecking = { expressionWarnings: warnings.length === 0 ? null : warnings };
    // The resourceVersion makes the write conditional on the policy that was checked.
    const body = {
      metadata: { uid, resourceVersion },
      status: { observedGeneration: generation, typeChecking },
    };
    const patch = { type: "merge", body } as const;
    const at = { name, subresource: "status" };
    await client.patch(resource, at, patch).catch((error: unknown) => {
      // Deleted or changed meanwhile: the informer event requeues a changed one.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  });
}

const builtinTypes = memoize((domain: Domain): readonly TypedResource[] =>
  builtinKinds.flatMap((kind) => typedResources(kind, domain)),
);

/**
 * Types of the custom resources that a policy matches. Empty if the controller may not read
 * CustomResourceDefinitions, as with Kubernetes' bootstrap role for its service account.
 */
async function customTypes(
  client: Client,
  { matchConstraints }: CheckedPolicy,
): Promise<readonly TypedResource[]> {
  const names = new Set<string>();
  for (const { apiGroups = [], resources = [] } of matchConstraints?.resourceRules ?? []) {
    for (const group of apiGroups.filter((each) => each.includes("."))) {
      for (const plural of resources) if (/^[\w-]+$/.test(plural)) names.add(`${plural}.${group}`);
    }
  }
  const group = resolve("apiextensions.{api}", client.domain);
  const kind = { plural: "customresourcedefinitions", kind: "CustomResourceDefinition" };
  const definitions: Handle<Definition> = { group, version: "v1", ...kind, namespaced: false };
  const found = [...names].slice(0, maxCheckedKinds).map(async (name) => {
    const definition = await client.get(definitions, { name }).catch(ignoreUnknown);
    return definition === undefined ? [] : typesOf(definition.spec);
  });
  return (await Promise.all(found)).flat();
}

function ignoreUnknown(error: unknown): undefined {
  if (statusCodeOf(error) !== 404 && statusCodeOf(error) !== 403) throw error;
}

function typesOf({ group, names, versions }: Definition["spec"]): readonly TypedResource[] {
  const { plural, kind } = names;
  return (versions ?? [])
    .filter(({ served }) => served)
    .map(({ name, schema }) => ({
      group,
      version: name,
      plural,
      kind,
      type: () => customType((schema?.openAPIV3Schema ?? {}) as StructuralSchema),
    }));
}

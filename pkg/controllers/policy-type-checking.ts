import { builtinKinds, type CheckedPolicy, typeWarnings } from "#api";
import type { ApiObject, Handle } from "#client";
import { isConflict, isNotFound, resolve } from "#meta";
import { type ControllerContext, enqueue, queueOf } from "./context.ts";

interface ValidatingPolicy extends ApiObject {
  readonly metadata: ApiObject["metadata"] & { readonly generation?: number | bigint };
  readonly spec: CheckedPolicy;
  readonly status?: { readonly observedGeneration?: number | bigint };
}

/**
 * Tells in the status of validating policies what the types of built-in kinds say of their
 * expressions. Policies are in force whatever comes out.
 */
export async function runPolicyTypeChecking(context: ControllerContext): Promise<void> {
  const { client, informers } = context;
  const group = resolve("admissionregistration.{api}", client.domain);
  const names = { plural: "validatingadmissionpolicies", kind: "ValidatingAdmissionPolicy" };
  const resource: Handle<ValidatingPolicy> = { group, version: "v1", ...names, namespaced: false };
  const policies = informers.of(resource);
  const queue = queueOf(context, "validating-admission-policy-status");
  enqueue(queue, policies, ({ object }) => [object.metadata.name]);
  await queue.run(async (name) => {
    const policy = policies.get(name);
    if (policy === undefined) return;
    const { generation = 0, uid, resourceVersion } = policy.metadata;
    if (BigInt(policy.status?.observedGeneration ?? 0) >= BigInt(generation)) return;
    const expressionWarnings = typeWarnings(policy.spec, builtinKinds, client.domain);
    const typeChecking = expressionWarnings.length === 0 ? {} : { expressionWarnings };
    // What is written is about this state of the policy and no other.
    const body = {
      metadata: { uid, resourceVersion },
      status: { observedGeneration: generation, typeChecking },
    };
    const patch = { type: "merge", body } as const;
    const at = { name, subresource: "status" };
    await client.patch(resource, at, patch).catch((error: unknown) => {
      // Gone, or changed meanwhile: either comes back as an event.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  });
}

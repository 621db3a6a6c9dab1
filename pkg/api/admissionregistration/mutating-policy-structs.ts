import { always, list, named, optional, plain, string } from "#schema";
import { objectMeta } from "#meta";
import { byName, sharedPolicyStructs, type Version } from "./policy-structs.ts";

type Shared = ReturnType<typeof sharedPolicyStructs>;

function mutationOf(version: Version, { declare }: Shared) {
  const applyConfiguration = declare("ApplyConfiguration", "A change by server-side apply.", {
    expression: plain(1, string, "The object to apply, in CEL: `Object{spec: …}`."),
  });
  const jsonPatch = declare("JSONPatch", "A change by JSON patch.", {
    expression: plain(1, string, "The operations in CEL: `[JSONPatch{op: …}]`."),
  });
  return declare("Mutation", "One change to make.", {
    patchType: always(
      2,
      named(`${version}.PatchType`, "ApplyConfiguration", "JSONPatch"),
      "How it is told: ApplyConfiguration or JSONPatch.",
    ),
    applyConfiguration: optional(3, applyConfiguration, "The change by server-side apply."),
    jsonPatch: optional(4, jsonPatch, "The change by JSON patch."),
  });
}

function policyOf(version: Version, shared: Shared) {
  const { declare, failurePolicy, matchCondition, matchResources, paramKind, variable } = shared;
  const spec = declare("MutatingAdmissionPolicySpec", "What the policy changes.", {
    paramKind: optional(1, paramKind, "Kind of the objects that parametrize it; absent: none."),
    matchConstraints: optional(2, matchResources, "Which requests it is for."),
    variables: plain(3, list(variable), "Expressions for use in the others.", {
      listType: "atomic",
    }),
    mutations: plain(4, list(mutationOf(version, shared)), "Changes to make, in order.", {
      listType: "atomic",
    }),
    failurePolicy: optional(
      5,
      failurePolicy,
      "What an error in an expression means: Fail (the request) or Ignore (the policy).",
      { default: "Fail" },
    ),
    matchConditions: plain(6, list(matchCondition), "Filters of requests; all must hold.", byName),
    reinvocationPolicy: plain(
      7,
      string,
      "Whether to run again once others have changed the object: Never or IfNeeded.",
    ),
  });
  return declare("MutatingAdmissionPolicy", "Changes requests on their way in, by CEL.", {
    metadata: plain(1, objectMeta, "Standard object metadata."),
    spec: plain(2, spec, "What the policy changes."),
  });
}

function bindingOf({ declare, matchResources, paramRef }: Shared) {
  const spec = declare("MutatingAdmissionPolicyBindingSpec", "What is bound.", {
    policyName: plain(1, string, "Name of the policy."),
    paramRef: optional(2, paramRef, "The objects that parametrize it here."),
    matchResources: optional(3, matchResources, "Narrows down which requests it is for."),
  });
  return declare("MutatingAdmissionPolicyBinding", "Puts a mutating policy to work.", {
    metadata: plain(1, objectMeta, "Standard object metadata."),
    spec: plain(2, spec, "What is bound."),
  });
}

function structsOf(version: Version) {
  const shared = sharedPolicyStructs(version);
  return { policy: policyOf(version, shared), binding: bindingOf(shared) };
}

export const mutatingV1beta1 = structsOf("v1beta1");
export const mutatingV1alpha1 = structsOf("v1alpha1");

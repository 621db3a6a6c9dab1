import { required, list, named, pointer, value, string } from "#schema";
import { objectMeta } from "#meta";
import { byName, sharedPolicyStructs, type Version } from "./policy-structs.ts";

type Shared = ReturnType<typeof sharedPolicyStructs>;

function mutationOf(version: Version, { declare }: Shared) {
  const applyConfiguration = declare("ApplyConfiguration", "A change by server-side apply.", {
    expression: value(1, string, "The object to apply, in CEL: `Object{spec: …}`."),
  });
  const jsonPatch = declare("JSONPatch", "A change by JSON patch.", {
    expression: value(1, string, "The operations in CEL: `[JSONPatch{op: …}]`."),
  });
  return declare("Mutation", "One change to make.", {
    patchType: required(
      2,
      named(`${version}.PatchType`, "ApplyConfiguration", "JSONPatch"),
      "How it is told: ApplyConfiguration or JSONPatch.",
    ),
    applyConfiguration: pointer(3, applyConfiguration, "The change by server-side apply."),
    jsonPatch: pointer(4, jsonPatch, "The change by JSON patch."),
  });
}

function policyOf(version: Version, shared: Shared) {
  const { declare, failurePolicy, matchCondition, matchResources, paramKind, variable } = shared;
  const spec = declare("MutatingAdmissionPolicySpec", "What the policy changes.", {
    paramKind: pointer(1, paramKind, "Kind of the objects that parametrize it; absent: none."),
    matchConstraints: pointer(2, matchResources, "Which requests it is for."),
    variables: value(3, list(variable), "Expressions for use in the others.", {
      listType: "atomic",
    }),
    mutations: value(4, list(mutationOf(version, shared)), "Changes to make, in order.", {
      listType: "atomic",
    }),
    failurePolicy: pointer(
      5,
      failurePolicy,
      "What an error in an expression means: Fail (the request) or Ignore (the policy).",
      { default: "Fail" },
    ),
    matchConditions: value(6, list(matchCondition), "Filters of requests; all must hold.", byName),
    reinvocationPolicy: value(
      7,
      string,
      "Whether to run again once others have changed the object: Never or IfNeeded.",
    ),
  });
  return declare("MutatingAdmissionPolicy", "Changes requests on their way in, by CEL.", {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, spec, "What the policy changes."),
  });
}

function bindingOf({ declare, matchResources, paramRef }: Shared) {
  const spec = declare("MutatingAdmissionPolicyBindingSpec", "What is bound.", {
    policyName: value(1, string, "Name of the policy."),
    paramRef: pointer(2, paramRef, "The objects that parametrize it here."),
    matchResources: pointer(3, matchResources, "Narrows down which requests it is for."),
  });
  return declare("MutatingAdmissionPolicyBinding", "Puts a mutating policy to work.", {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, spec, "What is bound."),
  });
}

function structsOf(version: Version) {
  const shared = sharedPolicyStructs(version);
  return { policy: policyOf(version, shared), binding: bindingOf(shared) };
}

export const mutatingV1beta1 = structsOf("v1beta1");
export const mutatingV1alpha1 = structsOf("v1alpha1");

import { required, list, named, pointer, value, string } from "#schema";
import { objectMeta } from "#meta";
import { byName, sharedPolicyStructs, withoutOpenApiEnum, type Version } from "./policy-structs.ts";

type Shared = ReturnType<typeof sharedPolicyStructs>;

function mutationOf(version: Version, { declare }: Shared) {
  const applyConfiguration = declare("ApplyConfiguration", "Mutation by server-side apply.", {
    expression: value(
      1,
      string,
      "CEL expression that produces the apply configuration: `Object{spec: " +
        "Object.spec{...}}`. Atomic lists, maps and structs must not be changed in part.",
    ),
  });
  const jsonPatch = declare("JSONPatch", "Mutation by JSON patch.", {
    expression: value(
      1,
      string,
      'CEL expression that produces the list of operations: `[JSONPatch{op: "replace", path: ' +
        '"/spec/x", value: 1}]`.',
    ),
  });
  return declare(
    "Mutation",
    "One mutation of a policy. The field that corresponds to patchType must be set.",
    {
      patchType: required(
        2,
        named(`${version}.PatchType`, "ApplyConfiguration", "JSONPatch"),
        "Form of the mutation: one of ApplyConfiguration, JSONPatch.",
      ),
      applyConfiguration: pointer(
        3,
        applyConfiguration,
        "Fields to merge into the object. For patchType ApplyConfiguration.",
      ),
      jsonPatch: pointer(
        4,
        jsonPatch,
        "Operations to perform on the object. For patchType JSONPatch.",
      ),
    },
  );
}

function policyOf(version: Version, shared: Shared) {
  const { declare, failurePolicy, matchCondition, matchResources, paramKind, variable } = shared;
  const spec = declare(
    "MutatingAdmissionPolicySpec",
    "Desired behavior of a MutatingAdmissionPolicy.",
    {
      paramKind: pointer(
        1,
        paramKind,
        "Kind of the parameter objects that bindings may refer to. When absent, the policy has " +
          "no parameters and `params` is not available.",
      ),
      matchConstraints: pointer(
        2,
        matchResources,
        "Requests that the policy applies to. Required. Only CREATE, UPDATE and CONNECT can be " +
          "matched.",
      ),
      variables: value(
        3,
        list(variable),
        "Named expressions that other expressions read as `variables.<name>`. Each may use " +
          "those before it.",
        {
          listType: "atomic",
        },
      ),
      mutations: value(
        4,
        list(mutationOf(version, shared)),
        "Mutations to perform in order, each on the result of the one before. At least one is " +
          "required.",
        {
          listType: "atomic",
        },
      ),
      failurePolicy: pointer(
        5,
        failurePolicy,
        "What happens when an expression fails or the configuration is invalid: one of Ignore " +
          "(skip the policy), Fail (deny the request). Defaults to Fail.",
        { default: "Fail", ...(version === "v1beta1" ? withoutOpenApiEnum : {}) },
      ),
      matchConditions: value(
        6,
        list(matchCondition),
        "Further conditions on the request in CEL, at most 64; all must be true. If one is " +
          "false, the policy is skipped.",
        byName,
      ),
      reinvocationPolicy: value(
        7,
        named("v1.ReinvocationPolicyType"),
        "Whether the policy is evaluated again after later plugins have changed the object: " +
          "Never or IfNeeded. Required.",
      ),
    },
  );
  return declare(
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicy changes objects on admission by CEL expressions. It takes " +
      "effect through bindings. Beta, off by default: requires the feature gate " +
      "MutatingAdmissionPolicy.",
    {
      metadata: value(1, objectMeta, "Standard object metadata."),
      spec: value(2, spec, "Matched requests and mutations."),
    },
  );
}

function bindingOf({ declare, matchResources, paramRef }: Shared) {
  const spec = declare(
    "MutatingAdmissionPolicyBindingSpec",
    "Policy to enable, its parameters and the requests it applies to.",
    {
      policyName: value(
        1,
        string,
        "Name of the MutatingAdmissionPolicy. Required. The binding is ignored while the " +
          "policy does not exist.",
      ),
      paramRef: pointer(
        2,
        paramRef,
        "Parameter objects for the policy. With several, it is evaluated once for each.",
      ),
      matchResources: pointer(
        3,
        matchResources,
        "Further restriction of the matched requests. By default all that the policy matches.",
      ),
    },
  );
  return declare(
    "MutatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicyBinding enables a MutatingAdmissionPolicy with given parameters.",
    {
      metadata: value(1, objectMeta, "Standard object metadata."),
      spec: value(2, spec, "Policy, parameters and matched requests of the binding."),
    },
  );
}

function structsOf(version: Version) {
  const shared = sharedPolicyStructs(version);
  return { policy: policyOf(version, shared), binding: bindingOf(shared) };
}

export const mutatingV1beta1 = structsOf("v1beta1");
export const mutatingV1alpha1 = structsOf("v1alpha1");

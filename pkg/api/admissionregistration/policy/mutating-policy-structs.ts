import { required, list, named, pointer, value, string, mergedBy } from "#schema";
import { objectMeta } from "#meta";
import { sharedPolicyStructs, withoutOpenApiEnum, type Version } from "./policy-structs.ts";

type Shared = ReturnType<typeof sharedPolicyStructs>;

function mutationOf(version: Version, { declare }: Shared) {
  const applyConfiguration = declare(
    "ApplyConfiguration",
    "Apply configuration that is merged into the object as by server-side apply.",
    {
      expression: value(
        1,
        string,
        "CEL expression that evaluates to the apply configuration, in the form `Object{spec: " +
          "Object.spec{...}}`. Atomic lists, maps and structs must not be included.",
      ),
    },
  );
  const jsonPatch = declare("JSONPatch", "JSON patch that is applied to the object.", {
    expression: value(
      1,
      string,
      "CEL expression that evaluates to the list of operations, in the form `[JSONPatch{op: " +
        '"replace", path: "/spec/x", value: 1}]`.',
    ),
  });
  return declare(
    "Mutation",
    "Mutation of an object by a CEL expression. The field that corresponds to patchType must " +
      "be set.",
    {
      patchType: required(
        2,
        named(`${version}.PatchType`, "ApplyConfiguration", "JSONPatch"),
        "Type of patch: one of ApplyConfiguration, JSONPatch.",
      ),
      applyConfiguration: pointer(
        3,
        applyConfiguration,
        "Apply configuration to merge into the object, for patchType ApplyConfiguration.",
      ),
      jsonPatch: pointer(
        4,
        jsonPatch,
        "JSON patch to apply to the object, for patchType JSONPatch.",
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
        "Kind of the parameter objects that bindings refer to. If absent, the policy has no " +
          "parameters and `params` is not available.",
      ),
      matchConstraints: pointer(
        2,
        matchResources,
        "Requests whose objects the policy mutates. Only CREATE, UPDATE and CONNECT can be " +
          "matched. Required.",
      ),
      variables: value(
        3,
        list(variable),
        "Variables that other expressions use as `variables.<name>`. Each can use those that " +
          "precede it.",
        {
          listType: "atomic",
        },
      ),
      mutations: value(
        4,
        list(mutationOf(version, shared)),
        "Mutations to apply in order, each to the result of the previous one. At least one is " +
          "required.",
        {
          listType: "atomic",
        },
      ),
      failurePolicy: pointer(
        5,
        failurePolicy,
        "Handling of expressions that fail and of invalid configuration: one of Ignore (skip " +
          "the policy), Fail (deny the request). Defaults to Fail.",
        { default: "Fail", ...(version === "v1beta1" ? withoutOpenApiEnum : {}) },
      ),
      matchConditions: value(
        6,
        list(matchCondition),
        "CEL conditions that must all be true for the policy to be evaluated, at most 64. If " +
          "one is false, the policy is skipped.",
        mergedBy("name"),
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
    "MutatingAdmissionPolicy mutates the objects of requests with CEL expressions. It only " +
      "takes effect through a MutatingAdmissionPolicyBinding. Beta, off by default: requires " +
      "the feature gate MutatingAdmissionPolicy.",
    {
      metadata: value(1, objectMeta, "Standard object metadata."),
      spec: value(2, spec, "Matched requests and mutations to apply."),
    },
  );
}

function bindingOf({ declare, matchResources, paramRef }: Shared) {
  const spec = declare(
    "MutatingAdmissionPolicyBindingSpec",
    "Specification of a binding: the policy, its parameters and the requests that it applies to.",
    {
      policyName: value(
        1,
        string,
        "Name of the MutatingAdmissionPolicy. The binding is ignored if the policy does not " +
          "exist. Required.",
      ),
      paramRef: pointer(
        2,
        paramRef,
        "Parameter objects of the policy. The policy is evaluated for each of them.",
      ),
      matchResources: pointer(
        3,
        matchResources,
        "Further restrictions on the requests. By default, all requests that the policy matches.",
      ),
    },
  );
  return declare(
    "MutatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicyBinding binds a MutatingAdmissionPolicy to parameters, and so puts " +
      "it into effect.",
    {
      metadata: value(1, objectMeta, "Standard object metadata."),
      spec: value(2, spec, "Policy, parameters and matched requests."),
    },
  );
}

function structsOf(version: Version) {
  const shared = sharedPolicyStructs(version);
  return { policy: policyOf(version, shared), binding: bindingOf(shared) };
}

export const mutatingV1beta1 = structsOf("v1beta1");
export const mutatingV1alpha1 = structsOf("v1alpha1");

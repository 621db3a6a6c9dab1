import {
  required,
  inline,
  type Infer,
  list,
  named,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { labelSelector } from "#meta";
import { ruleWithOperations } from "../rule.ts";

export type Version = "v1" | "v1beta1" | "v1alpha1";

/** Lists whose entries are told apart by their names. */
export const byName = {
  listType: "map",
  listMapKeys: ["name"],
  patchStrategy: ["merge"],
  patchMergeKey: "name",
} as const;

export function matchConditionOf(version: Version) {
  const declare = structs(`api/admissionregistration/${version}`);
  return declare("MatchCondition", "A filter of requests, in CEL.", {
    name: required(1, string, "Name of the condition, for audit events and warnings."),
    expression: required(2, string, "Must be true for the request to be looked at."),
  });
}

/** What policies of both sorts are made of, in the package of one version. */
export function sharedPolicyStructs(version: Version) {
  const declare = structs(`api/admissionregistration/${version}`);
  const matchCondition = matchConditionOf(version);
  const matchResources = matchResourcesOf(version);
  const paramKind = declare(
    "ParamKind",
    "Kind of the objects that parametrize a policy.",
    {
      apiVersion: value(1, string, "Their group and version."),
      kind: value(2, string, "Their kind."),
    },
    { atomic: true },
  );
  const variable = declare(
    "Variable",
    "A named expression, for use in the other expressions.",
    {
      name: required(1, string, "Identifier; other expressions say `variables.name`.", {
        protoName: "Name",
      }),
      expression: required(2, string, "Its value, in CEL.", { protoName: "Expression" }),
    },
    { atomic: version !== "v1alpha1" },
  );
  const failurePolicy = named(`${version}.FailurePolicyType`, "Ignore", "Fail");
  const paramRef = paramRefOf(version);
  return {
    declare,
    matchCondition,
    matchResources,
    paramKind,
    paramRef,
    variable,
    failurePolicy,
  };
}

function matchResourcesOf(version: Version) {
  const declare = structs(`api/admissionregistration/${version}`);
  const namedRule = declare(
    "NamedRuleWithOperations",
    "Which operations on which resources and names are meant.",
    {
      resourceNames: value(1, list(string), "Names of objects; empty means all.", {
        listType: "atomic",
      }),
      ruleWithOperations: inline(2, ruleWithOperations, "Operations and resources.", {
        protoName: "ruleWithOperations",
      }),
    },
    { atomic: true },
  );
  return declare(
    "MatchResources",
    "Which requests a policy or binding is for.",
    {
      namespaceSelector: pointer(1, labelSelector, "Namespaces by label; empty means all.", {
        default: {},
      }),
      objectSelector: pointer(2, labelSelector, "Objects by label; empty means all.", {
        default: {},
      }),
      resourceRules: value(3, list(namedRule), "What is looked at: any of these.", {
        listType: "atomic",
      }),
      excludeResourceRules: value(4, list(namedRule), "What is not: any of these.", {
        listType: "atomic",
      }),
      matchPolicy: pointer(
        7,
        named(`${version}.MatchPolicyType`, "Exact", "Equivalent"),
        "Whether the same object under another group or version is meant, too.",
        { default: "Equivalent" },
      ),
    },
    { atomic: true },
  );
}

/** Which objects parametrize a binding. */
function paramRefOf(version: Version) {
  const declare = structs(`api/admissionregistration/${version}`);
  return declare(
    "ParamRef",
    "The objects that parametrize a binding.",
    {
      name: value(1, string, "Name of the object; excludes selector."),
      namespace: value(
        2,
        string,
        "Its namespace; empty means that of the request, if the kind is namespaced.",
      ),
      selector: pointer(3, labelSelector, "Objects by label; excludes name."),
      parameterNotFoundAction: pointer(
        4,
        named(`${version}.ParameterNotFoundActionType`, "Allow", "Deny"),
        "What becomes of the request if there is no such object: Allow or Deny.",
        version === "v1alpha1" ? { default: "Deny" } : {},
      ),
    },
    { atomic: true },
  );
}

export type MatchResources = Infer<ReturnType<typeof matchResourcesOf>>;
export type ParamRef = Infer<ReturnType<typeof paramRefOf>>;
export type SharedPolicyStructs = ReturnType<typeof sharedPolicyStructs>;
export type MatchCondition = Infer<SharedPolicyStructs["matchCondition"]>;
export type ParamKind = Infer<SharedPolicyStructs["paramKind"]>;
export type Variable = Infer<SharedPolicyStructs["variable"]>;

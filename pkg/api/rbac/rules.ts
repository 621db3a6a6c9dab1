/** What roles are made of. */
import { required, type Infer, list, Path, value, type Problems, string, structs } from "#schema";

const v1 = structs("api/rbac/v1");

export const policyRule = v1("PolicyRule", "What may be done with what.", {
  verbs: required(1, list(string), "What may be done; `*` means anything.", { listType: "atomic" }),
  apiGroups: value(2, list(string), "Groups of the resources; empty is core, `*` means any.", {
    listType: "atomic",
  }),
  resources: value(3, list(string), "Resources, `resource/subresource`; `*` means any.", {
    listType: "atomic",
  }),
  resourceNames: value(4, list(string), "Names of objects; absent means any.", {
    listType: "atomic",
  }),
  nonResourceURLs: value(
    5,
    list(string),
    "Paths beside the resources; `*` at the end matches the rest.",
    { listType: "atomic" },
  ),
});

type PolicyRule = Infer<typeof policyRule>;

export function checkPolicyRules(
  rules: readonly PolicyRule[] | null,
  { isNamespaced }: { readonly isNamespaced: boolean },
  problems: Problems,
): void {
  for (const [index, rule] of (rules ?? []).entries()) {
    const path = Path.of("rules").index(index);
    const {
      verbs,
      apiGroups = [],
      resources = [],
      resourceNames = [],
      nonResourceURLs = [],
    } = rule;
    if ((verbs ?? []).length === 0) {
      problems.required(path.child("verbs"), "verbs must contain at least one value");
    }
    if (nonResourceURLs.length > 0) {
      const refuse = (detail: string) =>
        problems.invalid(path.child("nonResourceURLs"), nonResourceURLs, detail);
      if (isNamespaced) refuse("namespaced rules cannot apply to non-resource URLs");
      if (apiGroups.length > 0 || resources.length > 0 || resourceNames.length > 0) {
        refuse("rules cannot apply to both regular resources and non-resource URLs");
      }
      continue;
    }
    if (apiGroups.length === 0) {
      const detail = "resource rules must supply at least one api group";
      problems.required(path.child("apiGroups"), detail);
    }
    if (resources.length === 0) {
      const detail = "resource rules must supply at least one resource";
      problems.required(path.child("resources"), detail);
    }
  }
}

/** Validation of FlowSchema rules: subjects and request matching. */
import type { Path, Problems } from "#schema";
import { isDns1123Label, isDns1123Subdomain } from "#meta";
import { invalidEach } from "../strategy.ts";
import type { NonResourceRule, ResourceRule, Rule, Subject } from "./flow-schema-types.ts";

const verbs = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "proxy",
  "update",
  "watch",
];

/** Subject kind -> its field, in the order in which the others are forbidden. */
const subjectFields = {
  ServiceAccount: ["serviceAccount", "user", "group"],
  User: ["user", "serviceAccount", "group"],
  Group: ["group", "serviceAccount", "user"],
} as const;

const kindsOfFields = { serviceAccount: "ServiceAccount", user: "User", group: "Group" } as const;

export function checkRule(rule: Rule, path: Path, problems: Problems): void {
  const { subjects, resourceRules = [], nonResourceRules = [] } = rule;
  const subjectsPath = path.child("subjects");
  if (!subjects?.length) {
    problems.required(subjectsPath, "subjects must contain at least one value");
  }
  for (const [index, subject] of (subjects ?? []).entries()) {
    checkSubject(subject, subjectsPath.index(index), problems);
  }
  if (resourceRules.length === 0 && nonResourceRules.length === 0) {
    const detail = "at least one of resourceRules and nonResourceRules has to be non-empty";
    problems.required(path, detail);
  }
  for (const [index, each] of resourceRules.entries()) {
    checkResourceRule(each, path.child("resourceRules").index(index), problems);
  }
  for (const [index, each] of nonResourceRules.entries()) {
    checkNonResourceRule(each, path.child("nonResourceRules").index(index), problems);
  }
}

function checkSubject(subject: Subject, path: Path, problems: Problems): void {
  const { kind } = subject;
  if (kind !== "ServiceAccount" && kind !== "User" && kind !== "Group") {
    return problems.notSupported(path.child("kind"), kind, Object.keys(subjectFields));
  }
  for (const field of subjectFields[kind]) {
    const fieldPath = path.child(field);
    if (kindsOfFields[field] !== kind) {
      if (subject[field] === undefined) continue;
      const detail = `${field} is forbidden when subject kind is not '${kindsOfFields[field]}'`;
      problems.forbidden(fieldPath, detail);
    } else if (subject[field] === undefined) {
      problems.required(fieldPath, `${field} is required when subject kind is '${kind}'`);
    } else checkNames(subject, field, { path: fieldPath, problems });
  }
}

function checkNames(
  subject: Subject,
  field: keyof typeof kindsOfFields,
  { path, problems }: { readonly path: Path; readonly problems: Problems },
): void {
  const name = subject[field]?.name ?? "";
  const namePath = path.child("name");
  if (name === "") problems.required(namePath);
  if (field !== "serviceAccount") return;
  if (name !== "" && name !== "*") {
    invalidEach(problems, namePath, { value: name, messages: isDns1123Subdomain(name) });
  }
  const namespace = subject.serviceAccount?.namespace ?? "";
  const namespacePath = path.child("namespace");
  if (namespace === "") {
    return problems.required(namespacePath, "must specify namespace for service account");
  }
  const messages = isDns1123Label(namespace);
  invalidEach(problems, namespacePath, { value: namespace, messages });
}

interface Choice {
  readonly path: Path;
  readonly problems: Problems;
  /** Error message for an empty list. */
  readonly none: string;
  /** Noun for the message `must not specify other verbs`. */
  readonly others: string;
}

/** Requires at least one element, and `*` to be the only one; returns whether to check the elements. */
function checkChoice(values: readonly string[], { path, problems, none, others }: Choice): boolean {
  if (values.length === 0) problems.required(path, none);
  else if (values.length > 1 && values.includes("*")) {
    problems.invalid(path, values, `if '*' is present, must not specify other ${others}`);
  }
  return !values.includes("*");
}

function checkVerbs(values: readonly string[], path: Path, problems: Problems): void {
  const none = "verbs must contain at least one value";
  if (!checkChoice(values, { path, problems, none, others: "verbs" })) return;
  if (values.some((verb) => !verbs.includes(verb))) problems.notSupported(path, values, verbs);
}

function checkResourceRule(rule: ResourceRule, path: Path, problems: Problems): void {
  checkVerbs(rule.verbs ?? [], path.child("verbs"), problems);
  checkChoice(rule.apiGroups ?? [], {
    path: path.child("apiGroups"),
    problems,
    none: "resource rules must supply at least one api group",
    others: "api groups",
  });
  checkChoice(rule.resources ?? [], {
    path: path.child("resources"),
    problems,
    none: "resource rules must supply at least one resource",
    others: "resources",
  });
  const namespaces = rule.namespaces ?? [];
  if (namespaces.length === 0 && rule.clusterScope) return;
  const namespacesPath = path.child("namespaces");
  const none = "resource rules that are not cluster scoped must supply at least one namespace";
  if (!checkChoice(namespaces, { path: namespacesPath, problems, none, others: "namespaces" }))
    return;
  for (const [index, namespace] of namespaces.entries()) {
    const messages = isDns1123Label(namespace).map(
      (message) => `each member of this list must be '*' or a DNS-1123 label; ${message}`,
    );
    invalidEach(problems, namespacesPath.index(index), { value: namespace, messages });
  }
}

function checkNonResourceRule(rule: NonResourceRule, path: Path, problems: Problems): void {
  checkVerbs(rule.verbs ?? [], path.child("verbs"), problems);
  const urls = rule.nonResourceURLs ?? [];
  const nonResourceURLsPath = path.child("nonResourceURLs");
  const none = "nonResourceURLs must contain at least one value";
  if (
    !checkChoice(urls, { path: nonResourceURLsPath, problems, none, others: "non-resource URLs" })
  )
    return;
  for (const [index, url] of urls.entries()) {
    const fault = urlFault(url);
    if (fault !== undefined) problems.invalid(nonResourceURLsPath.index(index), url, fault);
  }
}

function urlFault(url: string): string | undefined {
  if (url === "") return "must not be empty";
  if (!url.startsWith("/")) return "must start with slash";
  if (url.includes(" ")) return "must not contain white-space";
  if (url.includes("//")) return "must not contain double slash";
  const stars = url.split("*").length - 1;
  const isSuffix = stars === 0 || (stars === 1 && url.endsWith("/*"));
  return isSuffix ? undefined : "wildcard can only do suffix matching";
}

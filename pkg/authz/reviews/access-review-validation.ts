/** Validation of access reviews; messages and order are Kubernetes'. */
import { invalid, isLabelValue, isQualifiedName } from "#meta";
import { Path, Problems } from "#schema";
import type { SelectorAttributes } from "./selector-requirements.ts";

const spec = Path.of("spec");

export interface ReviewChecks {
  /** Resolved group of the reviews. */
  readonly group: string;
  /** Whether the spec has the user. */
  readonly namesUser: boolean;
  /** LocalSubjectAccessReview: namespace must be that of the object. */
  readonly isLocal: boolean;
}

/**
 * Validates a review.
 * @throws StatusError 422 with all problems
 */
export function checkReview(review: any, checks: ReviewChecks): void {
  const problems = new Problems();
  checkSpec(review.spec, checks, problems);
  checkMetadata(review.metadata, checks, problems);
  if (checks.isLocal) checkLocal(review, problems);
  // The error has no kind, as in Kubernetes.
  if (!problems.empty) throw invalid({ group: checks.group, kind: "" }, "", problems);
}

function checkSpec(review: any, { namesUser }: ReviewChecks, problems: Problems): void {
  const { resourceAttributes, nonResourceAttributes, user = "", groups = [] } = review;
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined) {
    problems.invalid(
      spec.child("nonResourceAttributes"),
      goValueOf(nonResourceAttributes),
      "cannot be specified in combination with resourceAttributes",
    );
  }
  if (resourceAttributes === undefined && nonResourceAttributes === undefined) {
    const detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    problems.invalid(spec.child("resourceAttributes"), null, detail);
  }
  if (namesUser && user === "" && groups.length === 0) {
    problems.invalid(spec.child("user"), "", "at least one of user or group must be specified");
  }
  if (resourceAttributes === undefined) return;
  const attributesPath = spec.child("resourceAttributes");
  const { fieldSelector, labelSelector } = resourceAttributes;
  checkSelector(fieldSelector, attributesPath.child("fieldSelector"), {
    problems,
    ofLabels: false,
  });
  checkSelector(labelSelector, attributesPath.child("labelSelector"), { problems, ofLabels: true });
}

/** nonResourceAttributes with Go's field names, as the message prints them. */
function goValueOf({ path = "", verb = "" }: { readonly path?: string; readonly verb?: string }) {
  return { Path: path, Verb: verb };
}

/** Metadata must be empty, except managedFields and the namespace of a local review. */
function checkMetadata(metadata: any, { isLocal }: ReviewChecks, problems: Problems): void {
  const { managedFields: _managedFields, namespace, ...others } = metadata;
  const checked = isLocal || !namespace ? others : { ...others, namespace };
  const isSet = Object.values(checked).some((value) => value !== null && value !== undefined);
  const detail = isLocal ? "must be empty except for namespace" : "must be empty";
  if (isSet) problems.invalid(Path.of("metadata"), metadata, detail);
}

function checkLocal({ spec: reviewed, metadata }: any, problems: Problems): void {
  const { resourceAttributes, nonResourceAttributes } = reviewed;
  if (resourceAttributes !== undefined && resourceAttributes.namespace !== metadata.namespace) {
    problems.invalid(
      spec.child("resourceAttributes", "namespace"),
      resourceAttributes.namespace ?? "",
      "must match metadata.namespace",
    );
  }
  if (nonResourceAttributes !== undefined) {
    problems.invalid(
      spec.child("nonResourceAttributes"),
      goValueOf(nonResourceAttributes),
      "disallowed on this kind of request",
    );
  }
}

interface SelectorChecks {
  readonly problems: Problems;
  /** Whether keys and values must be valid label keys and values. */
  readonly ofLabels: boolean;
}

function checkSelector(
  selector: SelectorAttributes | undefined,
  path: Path,
  { problems, ofLabels }: SelectorChecks,
): void {
  if (selector === undefined) return;
  const { rawSelector = "", requirements = [] } = selector;
  if (rawSelector !== "" && requirements.length > 0) {
    const detail = "may not specified at the same time as requirements";
    problems.invalid(path.child("rawSelector"), rawSelector, detail);
  }
  if (rawSelector === "" && requirements.length === 0) {
    const detail = `when ${path.toString()} is specified, requirements or rawSelector is required`;
    problems.required(path.child("requirements"), detail);
  }
  for (const [index, requirement] of requirements.entries()) {
    const itemPath = path.child("requirements").index(index);
    if (!ofLabels && requirement.key === "") {
      problems.required(itemPath.child("key"), "must be specified");
    }
    checkValues(requirement, itemPath.child("values"), problems);
    if (ofLabels) checkLabelSyntax(requirement, itemPath, problems);
  }
}

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

function checkValues({ operator, values = [] }: Requirement, path: Path, problems: Problems): void {
  if (["In", "NotIn"].includes(operator) && values.length === 0) {
    problems.required(path, "must be specified when `operator` is 'In' or 'NotIn'");
  }
  if (["Exists", "DoesNotExist"].includes(operator) && values.length > 0) {
    const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    problems.forbidden(path, detail);
  }
}

function checkLabelSyntax({ key, values = [] }: Requirement, path: Path, problems: Problems): void {
  for (const message of isQualifiedName(key)) problems.invalid(path.child("key"), key, message);
  for (const [index, value] of values.entries()) {
    for (const message of isLabelValue(value)) {
      problems.invalid(path.child("values").index(index), value, message);
    }
  }
}

import {
  conditionOf,
  type CustomResourceDefinition,
  type DefinitionCondition,
  type DefinitionNames,
  withCondition,
} from "#api";
import type { Domain } from "#meta";

type Status = CustomResourceDefinition["status"];

/** Whether another definition of the group has claimed a name. */
export interface TakenNames {
  /** Checks a plural, singular or short name. */
  readonly resource: (name: string) => boolean;
  /** Checks a kind or list kind. */
  readonly kind: (name: string) => boolean;
}

interface StatusContext {
  readonly taken: TakenNames;
  readonly domain: Domain;
  /** Current time, RFC 3339. */
  readonly now: string;
}

/**
 * Computes the accepted names and conditions of a definition. An established definition remains so
 * with its earlier accepted names.
 */
export function desiredStatus(
  definition: CustomResourceDefinition,
  { taken, domain, now }: StatusContext,
): Status {
  const { status } = definition;
  const { names, conflict } = acceptNames(definition, taken);
  const accepted = namesAccepted(conflict);
  let conditions = withCondition(status.conditions ?? [], accepted, now);
  if (conditionOf(status, "Established")?.status !== "True") {
    conditions = withCondition(conditions, established(conflict === undefined), now);
  }
  const approval = approvalOf(definition, domain);
  if (approval !== undefined) conditions = withCondition(conditions, approval, now);
  return { ...status, acceptedNames: names, conditions: [...conditions] };
}

interface Conflict {
  readonly reason: string;
  readonly message: string;
}

type Condition = Omit<DefinitionCondition, "lastTransitionTime">;

function namesAccepted(conflict: Conflict | undefined): Condition {
  const type = "NamesAccepted";
  if (conflict !== undefined) return { type, status: "False", ...conflict };
  return { type, status: "True", reason: "NoConflicts", message: "no conflicts found" };
}

function established(isAccepted: boolean): Condition {
  const type = "Established";
  if (!isAccepted) {
    return { type, status: "False", reason: "NotAccepted", message: "not all names are accepted" };
  }
  const message = "the initial names have been accepted";
  return { type, status: "True", reason: "InitialNamesAccepted", message };
}

/**
 * The requested names that no other definition has claimed, else those accepted before. Of several
 * conflicts the last is reported.
 */
function acceptNames(
  { spec, status }: CustomResourceDefinition,
  taken: TakenNames,
): { readonly names: DefinitionNames; readonly conflict: Conflict | undefined } {
  const wanted = spec.names;
  const before = status.acceptedNames;
  let conflict: Conflict | undefined;
  const accept = (name: string | undefined, old: string | undefined, rule: NameRule): string => {
    if (!name || name === old || !rule.taken(name)) return name ?? "";
    conflict = { reason: rule.reason, message: inUseMessage(name) };
    return old ?? "";
  };
  const plural = accept(wanted.plural, before.plural, {
    taken: taken.resource,
    reason: "PluralConflict",
  });
  const singular = accept(wanted.singular, before.singular, {
    taken: taken.resource,
    reason: "SingularConflict",
  });
  const own = before.shortNames ?? [];
  const refused = (wanted.shortNames ?? [])
    .filter((name) => !own.includes(name) && taken.resource(name))
    .map(inUseMessage);
  if (refused.length > 0) {
    const message = refused.length === 1 ? String(refused[0]) : `[${refused.join(", ")}]`;
    conflict = { reason: "ShortNamesConflict", message };
  }
  const shortNames = refused.length > 0 ? own : (wanted.shortNames ?? []);
  const kind = accept(wanted.kind, before.kind, { taken: taken.kind, reason: "KindConflict" });
  const listKind = accept(wanted.listKind, before.listKind, {
    taken: taken.kind,
    reason: "ListKindConflict",
  });
  const categories = wanted.categories ?? [];
  const names: DefinitionNames = {
    plural,
    ...(singular === "" ? {} : { singular }),
    ...(shortNames.length === 0 ? {} : { shortNames }),
    kind,
    ...(listKind === "" ? {} : { listKind }),
    ...(categories.length === 0 ? {} : { categories }),
  };
  return { names, conflict };
}

interface NameRule {
  readonly taken: (name: string) => boolean;
  readonly reason: string;
}

function inUseMessage(name: string): string {
  return `${JSON.stringify(name)} is already in use`;
}

const approvalReference = "see https://github.com/kubernetes/enhancements/pull/1111";

/** The approval condition of definitions in a group of `k8s.io` or `kubernetes.io`; else undefined. */
function approvalOf(
  { spec, metadata }: CustomResourceDefinition,
  domain: Domain,
): Condition | undefined {
  const isProtected = [domain.api, domain.label].some(
    (suffix) => spec.group === suffix || spec.group.endsWith(`.${suffix}`),
  );
  if (!isProtected) return undefined;
  const type = "KubernetesAPIApprovalPolicyConformant";
  const annotation = `api-approved.${domain.label}`;
  const value = metadata.annotations?.[annotation];
  if (!value) {
    const message = `protected groups must have approval annotation "${annotation}", ${approvalReference}`;
    return { type, status: "False", reason: "MissingAnnotation", message };
  }
  if (value.startsWith("unapproved")) {
    const message = `not approved: ${JSON.stringify(value)}`;
    return { type, status: "False", reason: "UnapprovedAnnotation", message };
  }
  if (URL.canParse(value)) {
    return { type, status: "True", reason: "ApprovedAnnotation", message: `approved in ${value}` };
  }
  const message =
    `protected groups must have approval annotation "${annotation}" with either a URL or ` +
    `a reason starting with "unapproved", ${approvalReference}`;
  return { type, status: "False", reason: "InvalidAnnotation", message };
}

import {
  conditionOf,
  type CustomResourceDefinition,
  type DefinitionCondition,
  type DefinitionNames,
  withCondition,
} from "#api";
import type { Domain } from "#meta";

type Status = CustomResourceDefinition["status"];

/** Whether another definition of the group has a name. */
export interface TakenNames {
  /** As plural, singular or short name. */
  readonly resource: (name: string) => boolean;
  /** As kind, of objects or of lists. */
  readonly kind: (name: string) => boolean;
}

interface Deciding {
  readonly taken: TakenNames;
  readonly domain: Domain;
  /** Current time in RFC 3339 format. */
  readonly now: string;
}

/**
 * The status that a definition should have: the names that it may use, and what follows from them.
 * A definition that is established stays so with the names that it was given before.
 */
export function decidedStatus(
  definition: CustomResourceDefinition,
  { taken, domain, now }: Deciding,
): Status {
  const { status } = definition;
  const { names, conflict } = decidedNames(definition, taken);
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
 * The requested names that no other definition has accepted, else the names accepted before. The
 * last conflict is the one that is reported.
 */
function decidedNames(
  { spec, status }: CustomResourceDefinition,
  taken: TakenNames,
): { readonly names: DefinitionNames; readonly conflict: Conflict | undefined } {
  const wanted = spec.names;
  const before = status.acceptedNames;
  let conflict: Conflict | undefined;
  const decide = (name: string | undefined, had: string | undefined, rule: NameRule): string => {
    if (!name || name === had || !rule.taken(name)) return name ?? "";
    conflict = { reason: rule.reason, message: inUse(name) };
    return had ?? "";
  };
  const plural = decide(wanted.plural, before.plural, {
    taken: taken.resource,
    reason: "PluralConflict",
  });
  const singular = decide(wanted.singular, before.singular, {
    taken: taken.resource,
    reason: "SingularConflict",
  });
  const own = before.shortNames ?? [];
  const refused = (wanted.shortNames ?? [])
    .filter((name) => !own.includes(name) && taken.resource(name))
    .map(inUse);
  if (refused.length > 0) {
    const message = refused.length === 1 ? String(refused[0]) : `[${refused.join(", ")}]`;
    conflict = { reason: "ShortNamesConflict", message };
  }
  const shortNames = refused.length > 0 ? own : (wanted.shortNames ?? []);
  const kind = decide(wanted.kind, before.kind, { taken: taken.kind, reason: "KindConflict" });
  const listKind = decide(wanted.listKind, before.listKind, {
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

function inUse(name: string): string {
  return `${JSON.stringify(name)} is already in use`;
}

const about = "see https://github.com/kubernetes/enhancements/pull/1111";

/** Groups of the project itself need a word about who approved them. */
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
    const message = `protected groups must have approval annotation "${annotation}", ${about}`;
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
    `a reason starting with "unapproved", ${about}`;
  return { type, status: "False", reason: "InvalidAnnotation", message };
}

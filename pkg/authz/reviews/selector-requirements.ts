import { parseFieldSelector, parseLabelSelector, StatusError } from "#meta";
import type { SelectorTerm } from "#request";

/** Selector in a review: raw text or requirements, or neither. */
export interface SelectorAttributes {
  readonly rawSelector?: string;
  readonly requirements?: readonly SelectorRequirement[];
}

interface SelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface ReadSelector {
  /**
   * Parsed terms; undefined = unrestricted. Terms that cannot be parsed are dropped, which makes the reviewed
   * request wider and so never more permitted.
   */
  readonly terms: readonly SelectorTerm[] | undefined;
  /** Which terms were dropped, in the words of Kubernetes' message; "" = none. */
  readonly dropped: "" | "ignored" | "partially ignored";
}

const unrestricted: ReadSelector = { terms: undefined, dropped: "" };

/** Parses a field selector. */
export function fieldTermsOf(text: string): readonly SelectorTerm[] {
  return parseFieldSelector(text).requirements.map(({ field, operator, value }) => ({
    key: field,
    operator: operator === "=" ? "In" : "NotIn",
    values: [value],
  }));
}

const labelOperators: Readonly<Record<string, SelectorTerm["operator"]>> = {
  "=": "In",
  "==": "In",
  in: "In",
  "!=": "NotIn",
  notin: "NotIn",
  exists: "Exists",
  "!": "DoesNotExist",
};

/** Parses a label selector; drops numeric comparisons, which terms cannot represent. */
export function labelTermsOf(text: string): readonly SelectorTerm[] {
  return parseLabelSelector(text).requirements.flatMap(({ key, operator, values }) => {
    const named = labelOperators[operator];
    return named === undefined ? [] : [{ key, operator: named, values }];
  });
}

/** Field selectors support only `In` and `NotIn` with one value (source: Kubernetes). */
export function readFieldSelector(selector: SelectorAttributes | undefined): ReadSelector {
  return readSelector(
    selector,
    fieldTermsOf,
    ({ operator, values = [] }) =>
      (operator === "In" || operator === "NotIn") && values.length === 1,
  );
}

export function readLabelSelector(selector: SelectorAttributes | undefined): ReadSelector {
  const known = ["In", "NotIn", "Exists", "DoesNotExist"];
  return readSelector(selector, labelTermsOf, ({ operator }) => known.includes(operator));
}

function readSelector(
  selector: SelectorAttributes | undefined,
  parse: (text: string) => readonly SelectorTerm[],
  isReadable: (requirement: SelectorRequirement) => boolean,
): ReadSelector {
  const { rawSelector = "", requirements = [] } = selector ?? {};
  if (rawSelector !== "") {
    try {
      return { terms: parse(rawSelector), dropped: "" };
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return { terms: undefined, dropped: "ignored" };
    }
  }
  if (requirements.length === 0) return unrestricted;
  const terms = requirements.filter(isReadable).map(({ key, operator, values = [] }) => ({
    key,
    operator: operator as SelectorTerm["operator"],
    values,
  }));
  if (terms.length === requirements.length) return { terms, dropped: "" };
  return terms.length === 0
    ? { terms: undefined, dropped: "ignored" }
    : { terms, dropped: "partially ignored" };
}

import { fieldTermsOf, labelTermsOf } from "#authz";
import { chainAwaitable } from "#base";
import { StatusError } from "#meta";
import type { AuthorizationAttributes, Query, RequestInfo, SelectorTerm } from "#request";
import { sendText } from "../../response/response-writer.ts";
import { noteDecision } from "../audit.ts";
import type { Stage } from "../middleware-chain.ts";
import {
  type Arrived,
  type Audited,
  type Authenticated,
  type Nothing,
  type Parsed,
  nothing,
} from "../state.ts";
import { accessDenied, internalErrorText } from "../../response/failures.ts";
import type { ServerParts } from "../server-parts.ts";

/** Responds 403 unless the authorizer allows the request; 500 if an authorizer failed. */
export function authorize({
  authorizer,
  catalog,
  metrics,
}: ServerParts): Stage<Arrived & Parsed & Authenticated & Audited, Nothing> {
  return {
    name: "authorize",
    run: ({ state: { exchange, record, info, user, query, trail } }, next) => {
      const attributes: AuthorizationAttributes = {
        user,
        request: info,
        ...selectorsOf(info, query),
        get signal() {
          return exchange.signal;
        },
      };
      const started = performance.now();
      return chainAwaitable(authorizer.authorize(attributes), (decision) => {
        metrics.access.authorized(decision, (performance.now() - started) / 1000);
        noteDecision(trail, decision, catalog);
        const { verdict, reason, error = "" } = decision;
        if (verdict === "allow") return next(nothing);
        if (error === "") throw accessDenied(attributes, reason);
        // No authorizer denied the request, but one of them failed.
        record.code = 500;
        return sendText(exchange, 500, internalErrorText(exchange.url, error));
      });
    },
  };
}

/** Selectors as authorization attributes (KEP-4601); a malformed one is omitted and rejected later. */
function selectorsOf(
  { isResource, verb }: RequestInfo,
  query: Query,
): Pick<AuthorizationAttributes, "fieldTerms" | "labelTerms"> {
  if (!isResource || !["list", "watch", "deletecollection"].includes(verb)) return {};
  const fields = query.get("fieldSelector");
  const labels = query.get("labelSelector");
  return {
    ...(fields ? { fieldTerms: termsOf(fields, fieldTermsOf) } : {}),
    ...(labels ? { labelTerms: termsOf(labels, labelTermsOf) } : {}),
  };
}

function termsOf(
  text: string,
  parse: (text: string) => readonly SelectorTerm[],
): readonly SelectorTerm[] {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof StatusError) return [];
    throw error;
  }
}

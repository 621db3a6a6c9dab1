/** Validation of `spec.conversion`. */
import { Path, type Problems } from "#schema";
import { checkClientConfig } from "../webhook-client.ts";
import type { DefinitionSpec } from "./definition-structs.ts";
import { checkEnumerated, checkLabel } from "./name-rules.ts";
import { isCABundle, includesSupportedReviewVersion, type Ratcheting } from "./ratcheting.ts";
import { duplicateIndexes } from "../strategy.ts";

export function checkConversion(
  conversion: DefinitionSpec["conversion"],
  ratcheting: Ratcheting,
  problems: Problems,
): void {
  if (conversion === undefined) return;
  const path = Path.of("spec.conversion");
  checkEnumerated(conversion.strategy, path.child("strategy"), {
    supported: ["None", "Webhook"],
    problems,
  });
  const { clientConfig, conversionReviewVersions } = conversion.webhook ?? {};
  const client = path.child("webhookClientConfig");
  const reviews = path.child("conversionReviewVersions");
  if (conversion.strategy === "Webhook") {
    if (clientConfig === undefined) {
      problems.required(client, "required when strategy is set to Webhook");
    } else {
      checkClientConfig(clientConfig, client, problems);
      if (!ratcheting.allowsInvalidCABundle && !isCABundle(clientConfig.caBundle ?? "")) {
        const detail = "unable to load root certificates: unable to parse bytes as PEM block";
        problems.invalid(client.child("caBundle"), clientConfig.caBundle, detail);
      }
    }
    checkReviewVersions(conversionReviewVersions ?? [], reviews, {
      ratcheting,
      problems,
    });
    return;
  }
  const detail = "should not be set when strategy is not set to Webhook";
  if (clientConfig !== undefined) problems.forbidden(client, detail);
  if ((conversionReviewVersions ?? []).length > 0) problems.forbidden(reviews, detail);
}

function checkReviewVersions(
  versions: readonly string[],
  path: Path,
  { ratcheting, problems }: { readonly ratcheting: Ratcheting; readonly problems: Problems },
): void {
  if (versions.length === 0) return problems.required(path);
  const repeated = duplicateIndexes(versions, (version) => version);
  for (const [index, version] of versions.entries()) {
    const itemPath = path.index(index);
    if (repeated.has(index)) problems.invalid(itemPath, version, "duplicate version");
    else checkLabel(version, itemPath, problems);
  }
  if (ratcheting.allowsUnsupportedReviews || includesSupportedReviewVersion(versions)) return;
  problems.invalid(path, versions, "must include at least one of v1, v1beta1");
}

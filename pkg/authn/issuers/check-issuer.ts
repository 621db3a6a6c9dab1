import { type Path, type Problems } from "#schema";
import { parseCertificates } from "../certificates/certificate-authorities.ts";
import type { JwtConfiguration } from "./configuration-structs.ts";

interface Checking {
  readonly path: Path;
  readonly problems: Problems;
  /** Issuers of service account tokens. */
  readonly ownIssuers: readonly string[];
}

/** Validates the issuer of a JWT authenticator in an AuthenticationConfiguration. */
export function checkIssuer(issuer: JwtConfiguration["issuer"], checking: Checking): void {
  const { path, problems, ownIssuers } = checking;
  const { url = "", discoveryURL = "", certificateAuthority = "" } = issuer;
  if (url === "") problems.required(path.child("url"));
  else checkUrl(url, path.child("url"), problems);
  if (ownIssuers.includes(url)) {
    const detail = "must not be an issuer of service account tokens";
    problems.invalid(path.child("url"), url, detail);
  }
  if (discoveryURL !== "") {
    const own = path.child("discoveryURL");
    checkUrl(discoveryURL, own, problems);
    if (withoutSlash(discoveryURL) === withoutSlash(url)) {
      problems.invalid(own, discoveryURL, "must be different from url");
    }
  }
  checkAudiences(issuer, checking);
  if (certificateAuthority !== "" && !isPem(certificateAuthority)) {
    problems.invalid(path.child("certificateAuthority"), "<omitted>", "must hold certificates");
  }
  if (issuer.egressSelectorType) {
    problems.forbidden(path.child("egressSelectorType"), "egress selectors are not supported");
  }
}

function checkUrl(text: string, path: Path, problems: Problems): void {
  if (!URL.canParse(text)) return problems.invalid(path, text, "must be a URL");
  const url = new URL(text);
  if (url.protocol !== "https:") problems.invalid(path, text, "URL scheme must be https");
  if (url.username !== "" || url.password !== "") {
    problems.invalid(path, text, "URL must not contain a username or password");
  }
  if (url.search !== "") problems.invalid(path, text, "URL must not contain a query");
  if (url.hash !== "") problems.invalid(path, text, "URL must not contain a fragment");
}

function checkAudiences(issuer: JwtConfiguration["issuer"], { path, problems }: Checking): void {
  const { audiences, audienceMatchPolicy = "" } = issuer;
  const own = path.child("audiences");
  const names = audiences ?? [];
  if (names.length === 0) return problems.required(own, "at least one audience is required");
  for (const [index, audience] of names.entries()) {
    if (audience === "") problems.required(own.index(index));
    if (names.indexOf(audience) < index) problems.duplicate(own.index(index), audience);
  }
  const policy = path.child("audienceMatchPolicy");
  if (audienceMatchPolicy === "MatchAny") return;
  if (names.length > 1) {
    problems.invalid(policy, audienceMatchPolicy, "must be MatchAny for multiple audiences");
  } else if (audienceMatchPolicy !== "") {
    const detail = "must be empty or MatchAny for a single audience";
    problems.invalid(policy, audienceMatchPolicy, detail);
  }
}

function isPem(text: string): boolean {
  try {
    return parseCertificates(text).length > 0;
  } catch {
    return false;
  }
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, "");
}

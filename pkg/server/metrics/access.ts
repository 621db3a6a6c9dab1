import { memoize } from "#base";
import type { Decision, PeerCertificate, User } from "#request";
import { accessMetrics } from "./definitions.ts";
import type { Family } from "./family.ts";
import type { ServerInstruments } from "./instruments.ts";

/** User names that are label values as they are, as in kube-apiserver; others may be personal data. */
const commonNames: ReadonlySet<string> = new Set([
  "admin",
  "client",
  "kube_proxy",
  "kubelet",
  "system:serviceaccount:kube-system:default",
]);

const results = { allow: "allowed", deny: "denied", "no-opinion": "no-opinion" } as const;

/** Metrics of authentication and authorization. */
export class AccessMetrics {
  private readonly families: Readonly<Record<keyof typeof accessMetrics, Family>>;

  constructor(instruments: ServerInstruments) {
    const entries = Object.entries(accessMetrics);
    const families = entries.map(
      ([name, definition]) => [name, instruments.family(definition)] as const,
    );
    this.families = Object.fromEntries(families) as typeof this.families;
  }

  authenticated(result: { readonly user: User } | "failure" | "error", seconds: number): void {
    const label = typeof result === "string" ? result : "success";
    this.families.attempts.with([label]).value++;
    this.families.authenticationSeconds.with([label]).observe(seconds);
    if (typeof result === "string") return;
    this.families.users.with([userLabel(result.user.name)]).value++;
  }

  /** Observes the remaining lifetime of a client certificate; `now` in ms since 1970. */
  certificate(certificate: PeerCertificate, now: number): void {
    this.families.certificates.with([]).observe((expiryOf(certificate) - now) / 1000);
  }

  authorized({ verdict, error }: Decision, seconds: number): void {
    const isError = error !== undefined && verdict !== "allow";
    const label = isError ? "error" : results[verdict];
    this.families.decisions.with([label]).value++;
    this.families.authorizationSeconds.with([label]).observe(seconds);
  }
}

/** Expiry of a certificate in ms since 1970. */
const expiryOf = memoize(({ chain }: PeerCertificate) => Date.parse(chain[0]?.validTo ?? ""));

function userLabel(name: string): string {
  if (commonNames.has(name)) return name;
  return name.includes("@") ? "email_id" : "other";
}

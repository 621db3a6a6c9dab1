import { type Certificate, displayName } from "./certificate.ts";
import { hostNameFault } from "./host-name.ts";
import { constraintViolation } from "./name-constraints.ts";
import { signatureFault } from "./signature.ts";

export interface VerifyOptions {
  /** Every certificate of the pool is a trust anchor. */
  readonly roots: readonly Certificate[];
  /** Further certificates of the peer, in any order. */
  readonly intermediates: readonly Certificate[];
  /** Host name or address that the certificate must be valid for; undefined = not checked. */
  readonly host?: string;
  readonly usage: keyof typeof usages;
  /** In ms since 1970. */
  readonly now: number;
}

/** A certificate that is not valid; the message is that of crypto/x509. */
export class CertificateFault extends Error {
  override readonly name = "CertificateFault";
}

/** From the certificate to a trust anchor, which may be the certificate itself. */
export type Chain = readonly Certificate[];

const usages = { server: "1.3.6.1.5.5.7.3.1", client: "1.3.6.1.5.5.7.3.2" } as const;
const anyUsage = "2.5.29.37.0";
/** Limit of signature checks for one certificate. */
const maxSignatureChecks = 100;

/**
 * Verifies a certificate by the rules of crypto/x509: issuers are found by name and signature, whatever
 * the key identifiers say, and a certificate is never taken for self-signed because its names are equal.
 *
 * @throws CertificateFault
 */
export function verifyCertificate(leaf: Certificate, options: VerifyOptions): readonly Chain[] {
  const { roots, host, usage, now } = options;
  const fault = authorityFault(leaf, [], { isIntermediate: false, now });
  if (fault !== undefined) throw new CertificateFault(fault);
  const nameFault = host === undefined ? undefined : hostNameFault(leaf, host);
  if (nameFault !== undefined) throw new CertificateFault(nameFault);
  const isRoot = roots.some(({ raw }) => raw.equals(leaf.raw));
  const built = isRoot ? [[leaf]] : new ChainBuilder(options).build([leaf]);
  // Without required policies every chain is valid. No policy can be required by Kubernetes' clients, and
  // certificates that require one are refused, as their policies are not evaluated.
  const chains = built.filter((chain) => !chain.slice(0, -1).some((each) => each.requiresPolicy));
  if (chains.length === 0) {
    const detail = "all candidate chains have invalid policies";
    throw new CertificateFault(`x509: no valid chains built: ${detail}`);
  }
  const usable = chains.filter((chain) => chain.every((each) => allows(each, usages[usage])));
  if (usable.length > 0) return usable;
  throw new CertificateFault("x509: certificate specifies an incompatible key usage");
}

function allows({ extendedUsages }: Certificate, usage: string): boolean {
  if (extendedUsages.length === 0) return true;
  return extendedUsages.includes(anyUsage) || extendedUsages.includes(usage);
}

/** Builds all chains of a certificate by depth-first search. */
class ChainBuilder {
  private signatureChecks = 0;

  constructor(private readonly options: VerifyOptions) {}

  /** @throws CertificateFault if no chain ends at a trust anchor */
  build(chain: Chain): readonly Chain[] {
    const { roots, intermediates, now } = this.options;
    const child = chain.at(-1)!;
    const chains: Chain[] = [];
    let hint: { readonly fault: string; readonly of: Certificate } | undefined;
    let last: string | undefined;
    const consider = (parent: Certificate, isIntermediate: boolean) => {
      if (isInChain(parent, chain)) return;
      this.signatureChecks += 1;
      if (this.signatureChecks > maxSignatureChecks) {
        last = "x509: signature check attempts limit reached while verifying certificate chain";
        return;
      }
      const unsigned = signatureFault(child, parent);
      if (unsigned !== undefined) return void (hint ??= { fault: unsigned, of: parent });
      last = authorityFault(parent, chain, { isIntermediate, now });
      if (last !== undefined) return void (hint ??= { fault: last, of: parent });
      if (!isIntermediate) return void chains.push([...chain, parent]);
      try {
        chains.push(...this.build([...chain, parent]));
      } catch (error) {
        if (!(error instanceof CertificateFault)) throw error;
        last = error.message;
      }
    };
    for (const root of potentialParents(roots, child)) consider(root, false);
    for (const each of potentialParents(intermediates, child)) consider(each, true);
    if (chains.length > 0) return chains;
    throw new CertificateFault(last ?? unknownAuthority(hint));
  }
}

function unknownAuthority(
  hint: { readonly fault: string; readonly of: Certificate } | undefined,
): string {
  const text = "x509: certificate signed by unknown authority";
  if (hint === undefined) return text;
  const [fault, name] = [hint.fault, displayName(hint.of)].map((each) => JSON.stringify(each));
  const candidate = `while trying to verify candidate authority certificate ${name}`;
  return `${text} (possibly because of ${fault} ${candidate})`;
}

/** Certificates whose subject is the issuer, those with the same key identifier first. */
function potentialParents(pool: readonly Certificate[], child: Certificate): Certificate[] {
  const rank = ({ subjectKeyId }: Certificate): number => {
    if (subjectKeyId.equals(child.authorityKeyId)) return 0;
    return subjectKeyId.length === 0 || child.authorityKeyId.length === 0 ? 1 : 2;
  };
  return pool
    .filter(({ subject }) => subject.equals(child.issuer))
    .toSorted((a, b) => rank(a) - rank(b));
}

/** Whether the chain has the subject, key and alternative names of a candidate, which ends loops. */
function isInChain(candidate: Certificate, chain: Chain): boolean {
  const namesOf = ({ alternativeNames }: Certificate) => alternativeNames?.raw ?? Buffer.alloc(0);
  return chain.some(
    (each) =>
      each.subject.equals(candidate.subject) &&
      each.publicKeyInfo.equals(candidate.publicKeyInfo) &&
      namesOf(each).equals(namesOf(candidate)),
  );
}

interface Position {
  /** Below a trust anchor; false for an anchor, and for the certificate to verify. */
  readonly isIntermediate: boolean;
  readonly now: number;
}

/** Why a certificate may not be the next one of a chain, which is empty for the first. */
function authorityFault(
  certificate: Certificate,
  chain: Chain,
  { isIntermediate, now }: Position,
): string | undefined {
  const { notBefore, notAfter, basicConstraints, nameConstraints } = certificate;
  if (certificate.hasUnhandledCritical) return "x509: unhandled critical extension";
  const expired = "x509: certificate has expired or is not yet valid: current time";
  if (now < notBefore) return `${expired} ${rfc3339(now)} is before ${rfc3339(notBefore)}`;
  if (now > notAfter) return `${expired} ${rfc3339(now)} is after ${rfc3339(notAfter)}`;
  if (nameConstraints !== undefined) {
    for (const { alternativeNames } of chain) {
      const violation = alternativeNames && constraintViolation(nameConstraints, alternativeNames);
      if (violation === undefined) continue;
      const refused = "a root or intermediate certificate is not authorized to sign for this name";
      return `x509: ${refused}: ${violation}`;
    }
  }
  if (isIntermediate && basicConstraints?.isCa !== true) {
    return "x509: certificate is not authorized to sign other certificates";
  }
  const { maxPathLength } = basicConstraints ?? {};
  if (maxPathLength !== undefined && chain.length - 1 > maxPathLength) {
    return "x509: too many intermediates for path length constraint";
  }
  return undefined;
}

function rfc3339(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z");
}

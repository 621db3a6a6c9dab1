/** TokenRequest: issues a service account token. */
import { randomUuid } from "#base";
import { badRequest, conflict, type Domain, invalid, notFound, resolve } from "#meta";
import type { CreateHandler, VirtualCreate } from "#registry";
import { Path, Problems } from "#schema";
import { type Claims, signToken } from "../jwt/jwt.ts";
import type { SigningKey } from "../jwt/signing-keys.ts";
import type { ReadObject } from "../stored-objects.ts";

export interface TokenRequestOptions {
  readonly issuer: string;
  /** Called for each token: the server can start before its key is generated. */
  readonly signingKey: () => SigningKey;
  /** Default audiences of tokens. */
  readonly audiences: readonly string[];
  /** Whether a uid in the request must be that of the service account. */
  readonly checksUid: boolean;
  /** Maximum lifetime in seconds; longer requests are shortened; absent = no limit. */
  readonly maxSeconds?: number;
  /** `--service-account-extend-token-expiration`: tokens for a year for clients that never reload them. */
  readonly extends: boolean;
  readonly read: ReadObject;
  readonly domain: Domain;
}

/** Bounds of `expirationSeconds`. */
const minSeconds = 600;
const maxSeconds = 2 ** 32;
/**
 * Expiration in seconds of tokens that ServiceAccount admission requests. They are extended to a year, since
 * old clients read them only once; use after the requested hour is reported as stale.
 */
const extendedSeconds = 3607;
const yearSeconds = 365 * 24 * 3600;

/** Private claims of the bound object. */
type BoundClaims = Readonly<Record<string, { readonly name: string; readonly uid?: string }>>;

/** Handler of `create serviceaccounts/token`. */
export function tokenRequest(options: TokenRequestOptions): CreateHandler {
  const groupVersion = resolve("authentication.{api}/v1", options.domain);
  return {
    bodyKind: { groupVersion, kind: "TokenRequest" },
    handle: (create) => new TokenIssuer(options, create).issue(),
  };
}

class TokenIssuer {
  constructor(
    private readonly options: TokenRequestOptions,
    private readonly create: VirtualCreate,
  ) {}

  /** Responds with the TokenRequest and its token. @throws StatusError */
  async issue(): Promise<object> {
    const { object, request, context } = this.create;
    const { namespace, name } = request;
    this.checkName();
    const account = await this.options.read({ plural: "serviceaccounts", namespace, name });
    if (account === undefined) throw notFound(request.resource, name);
    const { metadata, spec } = object;
    if (spec.audiences === null || spec.audiences.length === 0) {
      spec.audiences = [...this.options.audiences];
    }
    this.check(account);
    const bound = await this.boundClaims();
    const now = Math.floor(context.now / 1000);
    const seconds = this.lifetime();
    const claims = this.claims(account, { bound, now, seconds });
    const token = signToken(claims, this.options.signingKey());
    const issued = resolve("authentication.{label}/issued-credential-id", this.options.domain);
    this.create.request.notes?.annotate(issued, `JTI=${String(claims["jti"])}`);
    const expirationTimestamp = timestamp((now + seconds) * 1000);
    return {
      metadata: {
        ...metadata,
        name,
        namespace,
        uid: account.metadata.uid,
        creationTimestamp: timestamp(context.now),
      },
      spec,
      status: { token, expirationTimestamp },
    };
  }

  /** Lifetime in seconds, limited to the maximum. */
  private lifetime(): number {
    const { object, warn } = this.create;
    const wanted = Number(object.spec.expirationSeconds);
    const { maxSeconds = Infinity } = this.options;
    if (wanted <= maxSeconds) return wanted;
    warn(`requested expiration of ${wanted} seconds shortened to ${maxSeconds} seconds`);
    object.spec.expirationSeconds = maxSeconds;
    return maxSeconds;
  }

  /** The name, if given, must be that in the path. @throws StatusError */
  private checkName(): void {
    const { object, request } = this.create;
    const { name } = object.metadata;
    if (!name || name === request.name) return;
    const problems = new Problems();
    const detail = "must match the service account name if specified";
    problems.invalid(Path.of("metadata.name"), name, detail);
    const group = resolve("authentication.{api}", this.options.domain);
    throw invalid({ group, kind: "TokenRequest" }, request.name, problems);
  }

  /** Validates uid and expiration. @throws StatusError */
  private check(account: any): void {
    const { metadata, spec } = this.create.object;
    const { name, uid } = account.metadata;
    const group = resolve("authentication.{api}", this.options.domain);
    const kind = { group, kind: "TokenRequest" };
    if (this.options.checksUid && metadata.uid && metadata.uid !== uid) {
      const detail =
        `the UID in the token request (${metadata.uid}) ` +
        `does not match the UID of the service account (${uid})`;
      throw conflict({ group, plural: kind.kind }, name, detail);
    }
    const problems = new Problems();
    checkSeconds(spec.expirationSeconds, problems);
    if (!problems.empty) throw invalid(kind, metadata.name ?? "", problems);
  }

  /** Claims of the object to which the token is bound. */
  private async boundClaims(): Promise<BoundClaims> {
    const { boundObjectRef } = this.create.object.spec;
    if (boundObjectRef === null || boundObjectRef === undefined) return {};
    const { kind = "", apiVersion = "", name = "", uid = "" } = boundObjectRef;
    const slash = apiVersion.indexOf("/");
    const group = slash < 0 ? "" : apiVersion.slice(0, slash);
    const version = apiVersion.slice(slash + 1);
    if (group !== "" || !["Pod", "Secret", "Node"].includes(kind)) {
      const type = `${group}/${version}, Kind=${kind}`;
      throw badRequest(`cannot bind token to object of type ${type}`);
    }
    if (name === "") throw badRequest("Name parameter required.");
    const object = await this.object(kind, name);
    if (uid !== "" && uid !== object.metadata.uid) {
      const detail =
        `the UID in the bound object reference (${uid}) does not match the UID in record. ` +
        "The object might have been deleted and then recreated";
      throw conflict({ group, plural: kind }, name, detail);
    }
    const claims = { [kind.toLowerCase()]: { name, uid: object.metadata.uid } };
    return kind === "Pod" ? { ...claims, ...(await this.nodeOf(object)) } : claims;
  }

  private async object(kind: "Pod" | "Secret" | "Node", name: string): Promise<any> {
    const { request } = this.create;
    const plural = ({ Pod: "pods", Secret: "secrets", Node: "nodes" } as const)[kind];
    const namespace = kind === "Node" ? "" : request.namespace;
    const object = await this.options.read({ plural, namespace, name });
    if (object === undefined) throw notFound({ group: "", plural }, name);
    if (kind === "Pod" && object.spec.serviceAccountName !== request.name) {
      throw badRequest(
        `cannot bind token for serviceaccount ${JSON.stringify(request.name)} ` +
          "to pod running with different serviceaccount name.",
      );
    }
    return object;
  }

  /** Informational claim of the pod's node, even if the Node does not exist. */
  private async nodeOf(pod: any): Promise<BoundClaims> {
    const name: string | undefined = pod.spec.nodeName;
    if (!name) return {};
    const node = await this.options.read({ plural: "nodes", namespace: "", name });
    return { node: { name, ...(node === undefined ? {} : { uid: node.metadata.uid }) } };
  }

  private claims(
    account: any,
    { bound, now, seconds }: { bound: BoundClaims; now: number; seconds: number },
  ): Claims {
    const { audiences } = this.create.object.spec;
    const { namespace, name, uid } = account.metadata;
    const isExtended =
      this.options.extends &&
      seconds === extendedSeconds &&
      bound["pod"] !== undefined &&
      audiences.every((audience: string) => this.options.audiences.includes(audience));
    const privateClaims = { namespace, serviceaccount: { name, uid }, ...bound };
    return {
      aud: audiences,
      exp: now + (isExtended ? yearSeconds : seconds),
      iat: now,
      iss: this.options.issuer,
      jti: randomUuid(),
      [this.options.domain.label]: isExtended
        ? { ...privateClaims, warnafter: now + seconds }
        : privateClaims,
      nbf: now,
      sub: `system:serviceaccount:${namespace}:${name}`,
    };
  }
}

function checkSeconds(seconds: number | bigint, problems: Problems): void {
  const path = Path.of("spec.expirationSeconds");
  if (seconds < minSeconds) {
    problems.invalid(path, seconds, "may not specify a duration less than 10 minutes");
  }
  if (seconds > maxSeconds) {
    problems.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds");
  }
}

function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Authentication and authorization that an aggregated server delegates to the API server. */
import { CertificateAuthorities, RequestHeaderAuthenticator } from "#authn";
import { type Clock, isJsonObject, setBounded } from "#base";
import type { ApiObject, Client, Handle, Informer, Informers } from "#client";
import { resolve } from "#meta";
import type { Credentials, User } from "#request";

interface ConfigMap extends ApiObject {
  readonly data?: Readonly<Record<string, string>>;
}

const configMaps: Handle<ConfigMap> = {
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
};
const namespace = "kube-system";
const name = "extension-apiserver-authentication";

interface Review extends ApiObject {
  readonly spec: object;
  readonly status?: { readonly allowed?: boolean; readonly reason?: string };
}

/** Time for which a decision is remembered, as in Kubernetes' extension servers. */
const rememberedMs = 10_000;
const mostRemembered = 1_000;

export interface DelegatedTrustOptions {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
}

/**
 * Believes the `X-Remote-*` headers beside a client certificate of the authorities that the ConfigMap
 * `extension-apiserver-authentication` names, and asks the API server by SubjectAccessReview what the
 * user may do.
 */
export class DelegatedTrust {
  private readonly trust: Informer<ConfigMap>;
  private authenticator: RequestHeaderAuthenticator | undefined;
  private readonly decisions = new Map<
    string,
    { readonly allowed: boolean; readonly at: number }
  >();

  constructor(private readonly options: DelegatedTrustOptions) {
    const fieldSelector = `metadata.name=${name}`;
    this.trust = options.informers.of(configMaps, { namespace, fieldSelector });
  }

  /** Calls the listener with the authorities of client certificates (PEM) whenever they change. */
  follow(listener: (authorities: string) => void): void {
    this.trust.subscribe(({ type, object }) => {
      if (type === "deleted") return;
      const { data = {} } = object;
      const authorities = data["requestheader-client-ca-file"] ?? "";
      this.authenticator = authorities === "" ? undefined : this.authenticatorOf(data, authorities);
      listener(authorities);
    });
  }

  /**
   * Undefined = the request does not come through the API server.
   * @throws StatusError 401 for another certificate
   */
  authenticate(credentials: Credentials): User | undefined {
    const user = this.authenticator?.authenticate(credentials);
    if (user === undefined) return undefined;
    return { ...user, groups: [...new Set([...user.groups, "system:authenticated"])] };
  }

  /** Whether the user may do what the attributes of a SubjectAccessReview say. */
  async isAllowed(user: User, attributes: object): Promise<boolean> {
    const { client, clock } = this.options;
    const { name: userName, uid, groups, extra } = user;
    const spec = { user: userName, uid, groups, extra: Object.fromEntries(extra), ...attributes };
    const key = JSON.stringify(spec);
    const known = this.decisions.get(key);
    if (known !== undefined && clock.monotonic() < known.at + rememberedMs) return known.allowed;
    const reviews: Handle<Review> = {
      group: resolve("authorization.{api}", client.domain),
      version: "v1",
      plural: "subjectaccessreviews",
      kind: "SubjectAccessReview",
      namespaced: false,
    };
    const { status } = await client.create(reviews, { metadata: {}, spec });
    const allowed = status?.allowed === true;
    setBounded(this.decisions, [key, { allowed, at: clock.monotonic() }], mostRemembered);
    return allowed;
  }

  private authenticatorOf(data: Readonly<Record<string, string>>, pem: string) {
    const authorities = new CertificateAuthorities(this.options.clock);
    authorities.replace(pem);
    const names = (key: string) => namesIn(data[`requestheader-${key}`]);
    return new RequestHeaderAuthenticator({
      authorities,
      allowedNames: names("allowed-names"),
      headers: {
        username: names("username-headers"),
        uid: names("uid-headers"),
        group: names("group-headers"),
        extraPrefix: names("extra-headers-prefix"),
      },
    });
  }
}

/** A list of texts as JSON; anything else is none. */
function namesIn(text = "[]"): readonly string[] {
  const wrapped = JSON.parse(`{"names":${text}}`) as unknown;
  const names = isJsonObject(wrapped) ? wrapped["names"] : undefined;
  return Array.isArray(names) ? names.filter((each) => typeof each === "string") : [];
}

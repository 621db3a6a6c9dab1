/** Authentication and authorization that an aggregated server delegates to the API server. */
import { CertificateAuthorities, RequestHeaderAuthenticator } from "#authn";
import { type Clock, isJsonObject, parseJsonText, realClock } from "#base";
import {
  type AccessAttributes,
  type ApiObject,
  type Client,
  DelegatedAccess,
  type Handle,
  type Informer,
  type Informers,
} from "#client";
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

export interface DelegatedTrustOptions {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
}

/**
 * Delegated authentication and authorization: trusts the `X-Remote-*` headers with a client certificate of
 * the CAs in the ConfigMap `extension-apiserver-authentication`, and authorizes by SubjectAccessReview.
 */
export class DelegatedTrust {
  private readonly trust: Informer<ConfigMap>;
  private authenticator: RequestHeaderAuthenticator | undefined;
  private readonly access: DelegatedAccess;

  constructor(private readonly options: DelegatedTrustOptions) {
    const fieldSelector = `metadata.name=${name}`;
    this.access = new DelegatedAccess(options);
    this.trust = options.informers.of(configMaps, { namespace, fieldSelector });
  }

  /** Calls `listener` with the CAs of client certificates (PEM) whenever they change. */
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
   * Undefined = the request was not proxied by the API server.
   * @throws StatusError 401 for another certificate
   */
  authenticate(credentials: Credentials): User | undefined {
    const user = this.authenticator?.authenticate(credentials);
    if (user === undefined) return undefined;
    return { ...user, groups: [...new Set([...user.groups, "system:authenticated"])] };
  }

  /** Whether a SubjectAccessReview allows the attributes. */
  isAllowed(user: User, attributes: AccessAttributes): Promise<boolean> {
    const { name: userName, uid, groups, extra } = user;
    const identity = { user: userName, uid, groups, extra: Object.fromEntries(extra) };
    return this.access.isAllowed(identity, attributes);
  }

  private authenticatorOf(data: Readonly<Record<string, string>>, pem: string) {
    // Certificates of connections are valid in real time.
    const authorities = new CertificateAuthorities(realClock(this.options.clock));
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

/** Parses a JSON list of strings; [] if invalid. */
function namesIn(text = "[]"): readonly string[] {
  const wrapped = parseJsonText(`{"names":${text}}`) as unknown;
  const names = isJsonObject(wrapped) ? wrapped["names"] : undefined;
  return Array.isArray(names) ? names.filter((each) => typeof each === "string") : [];
}

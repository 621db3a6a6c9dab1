import { assign, deepEqual } from "#base";
import { type Draft, objectKey, type WorkQueue } from "#client";
import { type Secret, secrets, type ServiceAccount, serviceAccounts } from "#kinds";
import { ignoreNotFound, isConflict, resolve } from "#meta";
import { type ControllerContext, enqueueOnChange, newWorkQueue } from "../controller-context.ts";

export interface ServiceAccountTokenOptions {
  /** Signs the claims of a token. */
  readonly sign: (claims: Readonly<Record<string, string>>) => string;
  /** CA certificates of the API server (PEM), stored beside the token; "" = none. */
  readonly authorities: string;
}

const issuer = "kubernetes/serviceaccount";

/**
 * Populates service account token Secrets, and deletes them with their ServiceAccount, since their tokens
 * do not expire.
 */
export async function runServiceAccountTokenController(
  context: ControllerContext,
  options: ServiceAccountTokenOptions,
): Promise<void> {
  await new ServiceAccountTokenController(context, options).run();
}

class ServiceAccountTokenController {
  private readonly queue: WorkQueue;
  private readonly type: string;
  private readonly nameKey: string;
  private readonly uidKey: string;
  /** Keys of deleted Secrets that ServiceAccounts may still list. */
  private readonly staleReferences = new Set<string>();

  constructor(
    private readonly context: ControllerContext,
    private readonly options: ServiceAccountTokenOptions,
  ) {
    const { domain } = context.client;
    this.queue = newWorkQueue(context, "serviceaccount_tokens_secret");
    this.type = resolve("{label}/service-account-token", domain);
    this.nameKey = resolve("{label}/service-account.name", domain);
    this.uidKey = resolve("{label}/service-account.uid", domain);
  }

  async run(): Promise<void> {
    const { informers } = this.context;
    const tokens = informers.of(secrets, { fieldSelector: `type=${this.type}` });
    const accounts = informers.of(serviceAccounts);
    enqueueOnChange(this.queue, tokens, ({ type, object }) => {
      if (type === "deleted") this.staleReferences.add(objectKey(object));
      return [objectKey(object)];
    });
    enqueueOnChange(this.queue, accounts, ({ type, object }) =>
      type === "updated" ? [] : this.secretsOf(tokens.all(), object),
    );
    await tokens.untilSynced();
    await this.queue.run(async (key) => {
      const secret = tokens.get(key);
      if (secret !== undefined) await this.syncSecret(secret);
      else if (this.staleReferences.has(key)) await this.removeReference(key, accounts.all());
    });
  }

  private secretsOf(all: Iterable<Secret>, { metadata }: ServiceAccount): readonly string[] {
    return [...all]
      .filter((secret) => secret.metadata.namespace === metadata.namespace)
      .filter((secret) => secret.metadata.annotations?.[this.nameKey] === metadata.name)
      .map(objectKey);
  }

  private async syncSecret(secret: Secret): Promise<void> {
    const { client } = this.context;
    const { namespace = "", name, uid, resourceVersion, annotations = {} } = secret.metadata;
    if (secret.metadata.deletionTimestamp !== undefined) return;
    const accountName = annotations[this.nameKey] ?? "";
    if (accountName === "") return;
    // A live read: the informer may not have seen the ServiceAccount yet.
    const account = await client
      .get(serviceAccounts, { namespace, name: accountName })
      .catch(ignoreNotFound);
    const wantedUid = annotations[this.uidKey] ?? "";
    if (account === undefined || (wantedUid !== "" && wantedUid !== account.metadata.uid)) {
      const preconditions = { uid, resourceVersion };
      await client.delete(secrets, { namespace, name }, { preconditions }).catch(ignoreNotFound);
      return;
    }
    const filled = this.filled(secret, account);
    if (!deepEqual(filled, secret)) await client.update(secrets, filled as Draft<Secret>);
  }

  private filled(secret: Secret, account: ServiceAccount): Secret {
    const { namespace = "", name } = secret.metadata;
    const { authorities } = this.options;
    const data = { ...secret.data };
    const put = (key: string, text: string) =>
      assign(data, key, Buffer.from(text, "utf8").toString("base64"));
    if (authorities !== "") put("ca.crt", authorities);
    if (!data["namespace"]) put("namespace", namespace);
    if (!data["token"]) put("token", this.token({ namespace, name }, account));
    const annotations = { ...secret.metadata.annotations, [this.uidKey]: account.metadata.uid };
    return { ...secret, metadata: { ...secret.metadata, annotations }, data };
  }

  private token(
    secret: { readonly namespace: string; readonly name: string },
    { metadata }: ServiceAccount,
  ): string {
    const { namespace } = secret;
    const prefix = resolve("{label}/serviceaccount", this.context.client.domain);
    return this.options.sign({
      iss: issuer,
      sub: `system:serviceaccount:${namespace}:${metadata.name}`,
      [`${prefix}/namespace`]: namespace,
      [`${prefix}/secret.name`]: secret.name,
      [`${prefix}/service-account.name`]: metadata.name,
      [`${prefix}/service-account.uid`]: metadata.uid,
    });
  }

  /** Removes a deleted Secret from `secrets` of ServiceAccounts. */
  private async removeReference(key: string, accounts: Iterable<ServiceAccount>): Promise<void> {
    const [namespace, name] = key.split("/");
    for (const account of accounts) {
      if (account.metadata.namespace !== namespace) continue;
      const { secrets: listed = [] } = account;
      const left = listed.filter((each) => each.name !== name);
      if (left.length === listed.length) continue;
      const next = { ...account, secrets: left };
      await this.context.client.update(serviceAccounts, next).catch((error: unknown) => {
        if (!isConflict(error)) return ignoreNotFound(error);
        throw error;
      });
    }
    this.staleReferences.delete(key);
  }
}

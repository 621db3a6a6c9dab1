import { createHmac } from "node:crypto";
import { deepEqual } from "#base";
import { configMaps } from "#kinds";
import { ignoreConflict } from "#meta";
import { type SigningToken, signingToken, tokenSecrets } from "./bootstrap-tokens.ts";
import { type ControllerContext, enqueueOnChange, newWorkQueue } from "../controller-context.ts";

const namespace = "kube-public";
const name = "cluster-info";
const payloadKey = "kubeconfig";
const signaturePrefix = "jws-kubeconfig-";
/** Timers are limited to 2^31-1 ms: later expirations are checked daily. */
const maxWaitMs = 86_400_000;

export interface BootstrapSignerOptions {
  /** Content of the cluster-info ConfigMap; absent = it is only signed, not created. */
  readonly clusterInfo?: {
    /** URL of the API server. */
    readonly server: string;
    /** CA certificates of the API server (PEM). */
    readonly authorities: string;
  };
}

/**
 * Signs the kubeconfig in the ConfigMap `kube-public/cluster-info` with every bootstrap token that has
 * `usage-bootstrap-signing`, so that a joining node with such a token can verify the cluster. Creates a
 * missing ConfigMap if there is such a token; never changes its kubeconfig.
 */
export async function runBootstrapSigner(
  context: ControllerContext,
  { clusterInfo }: BootstrapSignerOptions = {},
): Promise<void> {
  const { client, clock, informers } = context;
  const queue = newWorkQueue(context, "bootstrap_signer_queue");
  const tokens = tokenSecrets(context);
  const infos = informers.of(configMaps, { namespace, fieldSelector: `metadata.name=${name}` });
  enqueueOnChange(queue, tokens, () => [name]);
  enqueueOnChange(queue, infos, () => [name]);
  await Promise.all([tokens.untilSynced(), infos.untilSynced()]);
  await queue.run(async (key) => {
    const info = infos.get(`${namespace}/${name}`);
    const now = clock.now();
    const signing = [...tokens.all()].flatMap((secret) => signingToken(secret, now) ?? []);
    if (info === undefined && signing.length > 0 && clusterInfo !== undefined) {
      const data = { [payloadKey]: clusterKubeconfig(clusterInfo) };
      // The informer event triggers the signing.
      await client
        .create(configMaps, { metadata: { namespace, name }, data })
        .catch(ignoreConflict);
      return;
    }
    const payload = info?.data?.[payloadKey];
    if (info === undefined || payload === undefined) return;
    const others = Object.entries(info.data ?? {}).filter(
      ([entry]) => !entry.startsWith(signaturePrefix),
    );
    const signatures = signing.map((token): [string, string] => [
      `${signaturePrefix}${token.id}`,
      detachedSignature(payload, token),
    ]);
    const data = Object.fromEntries([...others, ...signatures]);
    if (!deepEqual(data, { ...info.data })) await client.update(configMaps, { ...info, data });
    const next = Math.min(...signing.map(({ expires }) => expires)) - now;
    if (next < Infinity) queue.addAfter(key, Math.min(next, maxWaitMs));
  });
}

/** Kubeconfig without users and contexts, like kubeadm's. */
function clusterKubeconfig({
  server,
  authorities,
}: NonNullable<BootstrapSignerOptions["clusterInfo"]>): string {
  return [
    "apiVersion: v1",
    "clusters:",
    "- cluster:",
    `    certificate-authority-data: ${Buffer.from(authorities).toString("base64")}`,
    `    server: ${server}`,
    '  name: ""',
    "contexts: null",
    'current-context: ""',
    "kind: Config",
    "preferences: {}",
    "users: null",
    "",
  ].join("\n");
}

/** JWS with a detached payload (RFC 7515, appendix F); the key is the secret half of the token. */
function detachedSignature(payload: string, { id, secret }: SigningToken): string {
  const head = base64url(JSON.stringify({ alg: "HS256", kid: id }));
  const hmac = createHmac("sha256", secret).update(`${head}.${base64url(payload)}`);
  return `${head}..${hmac.digest("base64url")}`;
}

function base64url(text: string): string {
  return Buffer.from(text, "utf8").toString("base64url");
}

import { type ClusterAuthenticationInfo, mergedAuthenticationInfo } from "#authn";
import { type Clock, deepEqual, realClock } from "#base";
import { type Catalog, ignoreNotFound, isConflict } from "#meta";
import { bodyOf, defaultWriteOptions, type Registry, loopbackRequest } from "#registry";
import type { FileReloader } from "../files/file-reloader.ts";
import type { StartOptions } from "../options.ts";

export interface TrustParts {
  readonly options: StartOptions;
  /** Generated CA certificate (PEM); "" = none was required, or the server does not listen. */
  readonly ownAuthority: string;
  readonly files: FileReloader;
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly report: (what: string, error: unknown) => void;
}

const namespace = "kube-system";
const name = "extension-apiserver-authentication";
const betweenLooksMs = 10_000;

/**
 * Publishes to extension API servers which client CAs and front proxies this server trusts, in the
 * ConfigMap extension-apiserver-authentication that all replicas merge into, until the signal
 * aborts.
 */
export async function publishClusterAuthenticationTrust(
  parts: TrustParts,
  signal: AbortSignal,
): Promise<void> {
  const { options, ownAuthority, clock, report } = parts;
  const { clientCa, frontProxy } = options;
  if (ownAuthority === "" && clientCa === undefined && frontProxy === undefined) return;
  const trust = followedTrust(parts, ownAuthority);
  while (!signal.aborted) {
    try {
      await write(parts, trust(), signal);
    } catch (error) {
      // Another replica wrote first; its change is merged in the next round.
      if (!signal.aborted && !isConflict(error))
        report(`Failed to publish ConfigMap ${name}`, error);
    }
    await realClock(clock)
      .sleep(betweenLooksMs, signal, { background: true })
      .catch(() => undefined);
  }
}

function followedTrust(
  { options, files }: TrustParts,
  ownAuthority: string,
): () => ClusterAuthenticationInfo {
  const { clientCa = "", frontProxy } = options;
  let trust: ClusterAuthenticationInfo | undefined;
  files.use([clientCa, frontProxy?.ca ?? ""], (more = "", ca = "") => {
    trust = {
      clientCa: [ownAuthority, more].join("\n"),
      frontProxy: frontProxy && { ...frontProxy, ca },
    };
  });
  return () => trust!;
}

async function write(
  { registry, catalog, clock }: TrustParts,
  trust: ClusterAuthenticationInfo,
  signal: AbortSignal,
): Promise<void> {
  const resource = catalog.find("", "v1", "configmaps");
  if (resource === undefined) return;
  const target = loopbackRequest(resource, { namespace, name }, { signal });
  const present = await registry
    .get(target, { resourceVersion: "", ownWrites: true })
    .catch(ignoreNotFound);
  const data = mergedAuthenticationInfo(trust, present?.object.data ?? {}, clock.now());
  if (present === undefined) {
    const made = { metadata: { name, namespace }, data };
    await registry.create({ ...target, name: "" }, bodyOf(resource, made), defaultWriteOptions);
  } else if (!deepEqual(data, present.object.data)) {
    await registry.update(
      target,
      bodyOf(resource, { ...present.object, data }),
      defaultWriteOptions,
    );
  }
}

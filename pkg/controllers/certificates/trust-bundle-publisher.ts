import { createHash } from "node:crypto";
import type { ApiObject, Handle } from "#client";
import { ignoreNotFound, resolve } from "#meta";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";
import { isServed } from "../is-served.ts";

interface ClusterTrustBundle extends ApiObject {
  readonly spec?: { readonly signerName?: string; readonly trustBundle?: string };
}

/** Versions of ClusterTrustBundle, newest first. */
const versions = ["v1beta1", "v1alpha1"];

/**
 * Publishes the CA certificates of the API server as ClusterTrustBundle of the signer
 * `kubernetes.io/kube-apiserver-serving`, if the kind is served. The bundle's name contains a hash of the
 * certificates; bundles of previous certificates are deleted.
 */
export async function runTrustBundlePublisher(
  context: ControllerContext,
  trustBundle: string,
): Promise<void> {
  const { client, informers } = context;
  const handle = await servedHandle(context);
  if (handle === undefined) return;
  const signerName = resolve("{label}/kube-apiserver-serving", client.domain);
  const hash = createHash("sha256").update(trustBundle).digest("hex").slice(0, 24);
  const name = `${signerName.replaceAll("/", ":")}:${hash}`;
  const queue = newWorkQueue(context, "ca_cert_publisher_cluster_trust_bundles");
  const bundles = informers.of(handle, { fieldSelector: `spec.signerName=${signerName}` });
  bundles.subscribe(() => queue.add(name));
  await bundles.untilSynced();
  queue.add(name);
  await queue.run(async () => {
    const present = bundles.get(name);
    const spec = { signerName, trustBundle };
    if (present === undefined) await client.create(handle, { metadata: { name }, spec });
    else if (present.spec?.trustBundle !== trustBundle) {
      await client.update(handle, { ...present, spec: { ...present.spec, ...spec } });
    }
    const former = [...bundles.all()].filter(({ metadata }) => metadata.name !== name);
    for (const { metadata } of former) {
      await client.delete(handle, { name: metadata.name }).catch(ignoreNotFound);
    }
  });
}

async function servedHandle(
  context: ControllerContext,
): Promise<Handle<ClusterTrustBundle> | undefined> {
  const group = resolve("certificates.{api}", context.client.domain);
  const names = { plural: "clustertrustbundles", kind: "ClusterTrustBundle", namespaced: false };
  for (const version of versions) {
    const handle: Handle<ClusterTrustBundle> = { group, version, ...names };
    if (await isServed(context, handle)) return handle;
  }
  return undefined;
}

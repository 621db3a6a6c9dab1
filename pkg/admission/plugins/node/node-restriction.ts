import { semanticEquality } from "#schema";
import { parseRequest } from "#api";
import { deepEqual } from "#base";
import { goQuote, notFound, resolve } from "#meta";
import type { AdmissionAttributes } from "#registry";
import type { User } from "#request";
import { forbiddenRequest } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import { changedLabels, forbiddenNodeLabels } from "./node-labels.ts";
import { checkNodeToken } from "./node-tokens.ts";
import type { NodeWrite } from "./node-write.ts";
import { usesSecrets } from "../secret-references.ts";

type Check = (write: NodeWrite) => Promise<void> | void;

const userPrefix = "system:node:";

/** Checks by group (a template) and plural. */
const checks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ["/pods", checkPods],
  ["/nodes", checkNode],
  ["/persistentvolumeclaims", checkClaim],
  ["/serviceaccounts", checkNodeToken],
  ["coordination.{api}/leases", checkLease],
  ["storage.{api}/csinodes", checkStorageNode],
  ["resource.{api}/resourceslices", checkSlice],
  ["certificates.{api}/certificatesigningrequests", checkCertificate],
  ["certificates.{api}/podcertificaterequests", checkPodCertificate],
]);

/**
 * Restricts kubelets to writes of their own Node, the pods bound to it, its Lease, etc. Ignores requests of
 * other users, at the cost of one comparison.
 */
export const nodeRestriction: AdmissionPlugin = {
  name: "NodeRestriction",
  enabled: "optional",
  create: (parts) => ({
    mutate: (attributes) => {
      const node = nodeNameOf(attributes.request.user);
      return node === undefined ? undefined : checked({ attributes, node, parts });
    },
  }),
};

async function checked(write: NodeWrite): Promise<readonly string[]> {
  const { attributes, node } = write;
  const { resource, user } = attributes.request;
  if (node === "")
    throw forbiddenRequest(attributes, `could not determine node from user ${q(user.name)}`);
  await checks.get(`${resource.kind.group}/${resource.plural}`)?.(write);
  return [];
}

/** Node name of a user; undefined = not a node. */
function nodeNameOf({ name, groups }: User): string | undefined {
  const isNode = name.startsWith(userPrefix) && groups.includes("system:nodes");
  return isNode ? name.slice(userPrefix.length) : undefined;
}

const q = goQuote;

/** Quoted operation of messages: `"CREATE"`, `"UPDATE"`, …. */
function quotedOperation({ operation }: AdmissionAttributes): string {
  return q(operation.toUpperCase());
}

async function checkPods(write: NodeWrite): Promise<void> {
  const { attributes } = write;
  switch (attributes.request.subresource) {
    case "":
      return checkPod(write);
    case "status":
      return checkPodStatus(write);
    case "eviction":
      return checkEviction(write);
    default: {
      const which = `unexpected pod subresource ${q(attributes.request.subresource)}`;
      throw forbiddenRequest(attributes, `${which}, only 'status' and 'eviction' are allowed`);
    }
  }
}

async function checkPod(write: NodeWrite): Promise<void> {
  const { attributes, node } = write;
  if (attributes.operation === "create") return checkMirrorPod(write);
  if (attributes.operation === "delete") {
    if (attributes.old.spec.nodeName === node) return;
    const message = `node ${q(node)} can only delete pods with spec.nodeName set to itself`;
    throw forbiddenRequest(attributes, message);
  }
  const which = `unexpected operation ${quotedOperation(attributes)}`;
  throw forbiddenRequest(
    attributes,
    `${which}, node ${q(node)} can only create and delete mirror pods`,
  );
}

/** Checks a created pod: must be a mirror pod on the node without references to other objects. */
async function checkMirrorPod(write: NodeWrite): Promise<void> {
  const { attributes, node, parts } = write;
  const { metadata, spec } = attributes.object;
  const mirror = resolve("{label}/config.mirror", parts.domain);
  if (!Object.hasOwn(metadata.annotations ?? {}, mirror)) {
    const message = `pod does not have ${q(mirror)} annotation`;
    throw forbiddenRequest(attributes, `${message}, node ${q(node)} can only create mirror pods`);
  }
  const only = (what: string) =>
    forbiddenRequest(attributes, `node ${q(node)} can only create pods ${what}`);
  if (spec.nodeName !== node) throw only("with spec.nodeName set to itself");
  await checkOwner(write, only);
  const used = usedByPod(spec);
  if (used === undefined) return;
  throw forbiddenRequest(attributes, `node ${q(node)} can not create pods that reference ${used}`);
}

async function checkOwner(
  { attributes, node, parts }: NodeWrite,
  only: (what: string) => Error,
): Promise<void> {
  const { request, object } = attributes;
  const owners: readonly any[] = object.metadata.ownerReferences ?? [];
  if (owners.length > 1) throw only("with a single owner reference set to itself");
  const [owner] = owners;
  const isNode = owner?.apiVersion === "v1" && owner.kind === "Node" && owner.name === node;
  if (!isNode) throw only("with an owner reference set to itself");
  if (!owner.controller) throw only("with a controller owner reference set to itself");
  if (owner.blockOwnerDeletion) {
    const message = `node ${q(node)} must not set blockOwnerDeletion on an owner reference`;
    throw forbiddenRequest(attributes, message);
  }
  const own = await parts.objects.find({ group: "", plural: "nodes" }, node, request.context);
  if (own === undefined) throw notFound({ group: "", plural: "nodes" }, node);
  if (owner.uid === own.metadata.uid) return;
  const uids = `expected ${owner.uid} got ${own.metadata.uid}`;
  throw forbiddenRequest(attributes, `node ${node} UID mismatch: ${uids}`);
}

/** First forbidden reference of a mirror pod; undefined = none. */
function usedByPod(spec: any): string | undefined {
  const volumes: readonly any[] = spec.volumes ?? [];
  const sources = volumes.flatMap(({ projected }) => projected?.sources ?? []);
  const containers = ["initContainers", "containers", "ephemeralContainers"];
  const all: readonly any[] = containers.flatMap((list) => spec[list] ?? []);
  const usesConfig =
    [...volumes, ...sources].some(({ configMap }) => configMap) ||
    all.some(
      ({ env, envFrom }) =>
        (env ?? []).some(({ valueFrom }: any) => valueFrom?.configMapKeyRef) ||
        (envFrom ?? []).some(({ configMapRef }: any) => configMapRef),
    );
  if (spec.serviceAccountName) return "a service account";
  if (usesSecrets(spec) || volumes.some(mountsBySecret)) return "secrets";
  if (usesConfig) return "configmaps";
  if (sources.some(({ clusterTrustBundle }) => clusterTrustBundle)) return "clustertrustbundles";
  if (volumes.some((volume) => volume.persistentVolumeClaim)) return "persistentvolumeclaims";
  return (spec.resourceClaims ?? []).length > 0 ? "resourceclaims" : undefined;
}

/** Whether a volume source has a secretRef for mounting. */
function mountsBySecret(volume: any): boolean {
  return Object.values<any>(volume).some(
    (source) => source?.secretRef ?? source?.secretName ?? source?.nodePublishSecretRef,
  );
}

function checkPodStatus({ attributes, node }: NodeWrite): void {
  const { object, old, operation } = attributes;
  if (operation !== "update") throw unexpected(attributes);
  if (old.spec.nodeName !== node) {
    const whose = "for pods with spec.nodeName set to itself";
    throw forbiddenRequest(attributes, `node ${q(node)} can only update pod status ${whose}`);
  }
  const cannot = (what: string) =>
    forbiddenRequest(attributes, `node ${q(node)} cannot update ${what}`);
  if (changedLabels(object, old).length > 0) throw cannot("labels through pod status");
  const [now = {}, before = {}] = [object.status, old.status];
  if (!deepEqual(now.resourceClaimStatuses ?? [], before.resourceClaimStatuses ?? [])) {
    throw cannot("resource claim statues");
  }
  if (!deepEqual(now.extendedResourceClaimStatus, before.extendedResourceClaimStatus)) {
    throw cannot("extended resource claim status");
  }
}

function unexpected(attributes: AdmissionAttributes): Error {
  return forbiddenRequest(attributes, `unexpected operation ${quotedOperation(attributes)}`);
}

async function checkEviction({ attributes, node, parts }: NodeWrite): Promise<void> {
  const { namespace, name, context } = attributes.request;
  const pod = await parts.objects.find({ group: "", plural: "pods", namespace }, name, context);
  if (pod === undefined) throw notFound({ group: "", plural: "pods" }, name);
  if (pod.spec.nodeName === node) return;
  const message = `node ${node} can only evict pods with spec.nodeName set to itself`;
  throw forbiddenRequest(attributes, message);
}

function checkNode({ attributes, node, parts }: NodeWrite): void {
  const { request, object, old, operation } = attributes;
  const name: string = request.name || (object?.metadata.name ?? "");
  const mayNot = (what: string) =>
    forbiddenRequest(attributes, `node ${q(node)} is not allowed to ${what}`);
  if (name !== node) throw mayNot(`modify node ${q(name)}`);
  if (operation === "delete") return;
  const { configSource } = object.spec ?? {};
  const labels = forbiddenNodeLabels(changedLabels(object, old), parts.domain).join(", ");
  if (operation === "create") {
    if (configSource) throw mayNot("create pods with a non-nil configSource");
    if (labels !== "") throw mayNot(`set the following labels: ${labels}`);
    return;
  }
  if (configSource && !deepEqual(configSource, old.spec.configSource)) {
    throw mayNot("update configSource to a new non-nil configSource");
  }
  if (!deepEqual(object.spec?.taints ?? [], old.spec.taints ?? [])) throw mayNot("modify taints");
  const [owners = [], before = []] = [
    object.metadata.ownerReferences,
    old.metadata.ownerReferences,
  ];
  if (!deepEqual(owners, before)) throw mayNot("modify ownerReferences");
  if (labels !== "")
    throw forbiddenRequest(attributes, `is not allowed to modify labels: ${labels}`);
}

/** Fields of a claim's status that a kubelet may write after resizing a volume. */
const claimStatus: ReadonlySet<string> = new Set([
  "capacity",
  "conditions",
  "allocatedResourceStatuses",
  "allocatedResources",
]);

function checkClaim({ attributes, node }: NodeWrite): void {
  const { request, object, old, operation } = attributes;
  if (request.subresource !== "status")
    throw forbiddenRequest(attributes, "may only update PVC status");
  if (operation !== "update") throw unexpected(attributes);
  const isEqual = semanticEquality(request.resource.hub.struct);
  if (isEqual(withoutStatus(object), withoutStatus(old))) return;
  const fields = "status.capacity and status.conditions";
  throw forbiddenRequest(
    attributes,
    `node ${q(node)} is not allowed to update fields other than ${fields}`,
  );
}

function withoutStatus({ metadata, status = {}, ...claim }: any): unknown {
  const { resourceVersion: _version, managedFields: _managers, ...own } = metadata;
  const kept = Object.entries(status).filter(([name]) => !claimStatus.has(name));
  return { ...claim, metadata: own, status: Object.fromEntries(kept) };
}

function checkLease({ attributes, node }: NodeWrite): void {
  if (attributes.request.namespace !== "kube-node-lease") {
    throw forbiddenRequest(
      attributes,
      'can only access leases in the "kube-node-lease" system namespace',
    );
  }
  if (nameOf(attributes) === node) return;
  const message = "can only access node lease with the same name as the requesting node";
  throw forbiddenRequest(attributes, message);
}

function checkStorageNode({ attributes, node }: NodeWrite): void {
  if (nameOf(attributes) === node) return;
  throw forbiddenRequest(
    attributes,
    "can only access CSINode with the same name as the requesting node",
  );
}

/** Name in the path, or for a POST in the object. */
function nameOf({ request, object }: AdmissionAttributes): string {
  return request.name || (object?.metadata.name ?? "");
}

/** Checks a created ResourceSlice; its node is immutable, so updates need no check. */
function checkSlice({ attributes, node }: NodeWrite): void {
  const { operation, object, old } = attributes;
  const slice = operation === "create" ? object : old;
  if (operation === "update" || slice.spec.nodeName === node) return;
  const message = `can only ${operation} ResourceSlice with the same NodeName as the requesting node`;
  throw forbiddenRequest(attributes, message);
}

const kubeletSigners = ["{label}/kubelet-serving", "{label}/kube-apiserver-client-kubelet"];

/** Checks that a kubelet certificate request has the node's own name. */
function checkCertificate({ attributes, node, parts }: NodeWrite): void {
  const { operation, object } = attributes;
  const insecure = "AllowInsecureKubeletCertificateSigningRequests";
  if (operation !== "create" || parts.gates(insecure)) return;
  const signers = kubeletSigners.map((signer) => resolve(signer, parts.domain));
  if (!signers.includes(object.spec.signerName)) return;
  const pem = Buffer.from(object.spec.request ?? "", "base64").toString("latin1");
  const parsed = parseRequest(pem);
  if ("fault" in parsed) throw forbiddenRequest(attributes, `unable to parse csr: ${parsed.fault}`);
  if (parsed.commonName === `${userPrefix}${node}`) return;
  const own = `can only create a node CSR with CN=${userPrefix}${node}`;
  throw forbiddenRequest(attributes, own);
}

/** Checks that a PodCertificateRequest is for a pod on the node. */
async function checkPodCertificate({ attributes, node, parts }: NodeWrite): Promise<void> {
  const { request, object, operation } = attributes;
  if (operation !== "create") return;
  const { nodeName, podName, podUID, serviceAccountName } = object.spec;
  if (nodeName !== node) {
    const message = `PodCertificateRequest.Spec.NodeName=${q(nodeName)}, which is not the `;
    throw forbiddenRequest(attributes, `${message}requesting node ${q(node)}`);
  }
  const pods = { group: "", plural: "pods", namespace: request.namespace };
  const pod = await parts.objects.find(pods, podName, request.context);
  const { spec = {}, metadata = {} } = pod ?? {};
  const isOwn =
    spec.nodeName === node &&
    metadata.uid === podUID &&
    spec.serviceAccountName === serviceAccountName;
  if (isOwn) return;
  throw forbiddenRequest(
    attributes,
    `pod ${q(podName)} does not run on node ${q(node)} as it is described`,
  );
}

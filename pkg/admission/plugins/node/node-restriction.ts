import { parseRequest } from "#api";
import { deepEqual } from "#base";
import { goQuote, notFound, resolve } from "#meta";
import type { AdmissionAttributes } from "#registry";
import type { User } from "#request";
import { refuse } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import { changedLabels, forbiddenNodeLabels } from "./node-labels.ts";
import { checkNodeToken } from "./node-tokens.ts";
import type { NodeWrite } from "./node-write.ts";
import { usesSecrets } from "../secret-references.ts";

type Check = (write: NodeWrite) => Promise<void> | void;

const userPrefix = "system:node:";

/** By group (a template) and plural. */
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
 * A kubelet may write only its own Node, the pods that run on it, its Lease and the like. Requests of
 * other users are none of its business and cost one comparison.
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
  if (node === "") throw refuse(attributes, `could not determine node from user ${q(user.name)}`);
  await checks.get(`${resource.kind.group}/${resource.plural}`)?.(write);
  return [];
}

/** Undefined for users other than nodes. */
function nodeNameOf({ name, groups }: User): string | undefined {
  const isNode = name.startsWith(userPrefix) && groups.includes("system:nodes");
  return isNode ? name.slice(userPrefix.length) : undefined;
}

const q = goQuote;

/** `"CREATE"`, `"UPDATE"`, …, quoted as in messages of Kubernetes. */
function shownOperation({ operation }: AdmissionAttributes): string {
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
      throw refuse(attributes, `${which}, only 'status' and 'eviction' are allowed`);
    }
  }
}

async function checkPod(write: NodeWrite): Promise<void> {
  const { attributes, node } = write;
  if (attributes.operation === "create") return checkMirrorPod(write);
  if (attributes.operation === "delete") {
    if (attributes.old.spec.nodeName === node) return;
    const story = `node ${q(node)} can only delete pods with spec.nodeName set to itself`;
    throw refuse(attributes, story);
  }
  const which = `unexpected operation ${shownOperation(attributes)}`;
  throw refuse(attributes, `${which}, node ${q(node)} can only create and delete mirror pods`);
}

/** A node may create mirror pods for its static pods, which may not reference other objects. */
async function checkMirrorPod(write: NodeWrite): Promise<void> {
  const { attributes, node, parts } = write;
  const { metadata, spec } = attributes.object;
  const mirror = resolve("{label}/config.mirror", parts.domain);
  if (!Object.hasOwn(metadata.annotations ?? {}, mirror)) {
    const story = `pod does not have ${q(mirror)} annotation`;
    throw refuse(attributes, `${story}, node ${q(node)} can only create mirror pods`);
  }
  const only = (what: string) => refuse(attributes, `node ${q(node)} can only create pods ${what}`);
  if (spec.nodeName !== node) throw only("with spec.nodeName set to itself");
  await checkOwner(write, only);
  const used = usedByPod(spec);
  if (used === undefined) return;
  throw refuse(attributes, `node ${q(node)} can not create pods that reference ${used}`);
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
    const story = `node ${q(node)} must not set blockOwnerDeletion on an owner reference`;
    throw refuse(attributes, story);
  }
  const own = await parts.objects.find({ group: "", plural: "nodes" }, node, request.context);
  if (own === undefined) throw notFound({ group: "", plural: "nodes" }, node);
  if (owner.uid === own.metadata.uid) return;
  const uids = `expected ${owner.uid} got ${own.metadata.uid}`;
  throw refuse(attributes, `node ${node} UID mismatch: ${uids}`);
}

/** The first sort of object that a mirror pod may not reference, but does; else undefined. */
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

/** Many kinds of volumes name a Secret with which they are mounted. */
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
    throw refuse(attributes, `node ${q(node)} can only update pod status ${whose}`);
  }
  const cannot = (what: string) => refuse(attributes, `node ${q(node)} cannot update ${what}`);
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
  return refuse(attributes, `unexpected operation ${shownOperation(attributes)}`);
}

async function checkEviction({ attributes, node, parts }: NodeWrite): Promise<void> {
  const { namespace, name, context } = attributes.request;
  const pod = await parts.objects.find({ group: "", plural: "pods", namespace }, name, context);
  if (pod === undefined) throw notFound({ group: "", plural: "pods" }, name);
  if (pod.spec.nodeName === node) return;
  const story = `node ${node} can only evict pods with spec.nodeName set to itself`;
  throw refuse(attributes, story);
}

function checkNode({ attributes, node, parts }: NodeWrite): void {
  const { request, object, old, operation } = attributes;
  const name: string = request.name || (object?.metadata.name ?? "");
  const mayNot = (what: string) => refuse(attributes, `node ${q(node)} is not allowed to ${what}`);
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
  if (labels !== "") throw refuse(attributes, `is not allowed to modify labels: ${labels}`);
}

/** Fields of a claim's status that a kubelet writes when it has resized the volume. */
const claimStatus: ReadonlySet<string> = new Set([
  "capacity",
  "conditions",
  "allocatedResourceStatuses",
  "allocatedResources",
]);

function checkClaim({ attributes, node }: NodeWrite): void {
  const { request, object, old, operation } = attributes;
  if (request.subresource !== "status") throw refuse(attributes, "may only update PVC status");
  if (operation !== "update") throw unexpected(attributes);
  if (deepEqual(withoutStatus(object), withoutStatus(old))) return;
  const fields = "status.capacity and status.conditions";
  throw refuse(attributes, `node ${q(node)} is not allowed to update fields other than ${fields}`);
}

function withoutStatus({ metadata, status = {}, ...claim }: any): unknown {
  const { resourceVersion: _version, managedFields: _managers, ...own } = metadata;
  const kept = Object.entries(status).filter(([name]) => !claimStatus.has(name));
  return { ...claim, metadata: own, status: Object.fromEntries(kept) };
}

function checkLease({ attributes, node }: NodeWrite): void {
  if (attributes.request.namespace !== "kube-node-lease") {
    throw refuse(attributes, 'can only access leases in the "kube-node-lease" system namespace');
  }
  if (nameOf(attributes) === node) return;
  const story = "can only access node lease with the same name as the requesting node";
  throw refuse(attributes, story);
}

function checkStorageNode({ attributes, node }: NodeWrite): void {
  if (nameOf(attributes) === node) return;
  throw refuse(attributes, "can only access CSINode with the same name as the requesting node");
}

/** The path of a POST has no name; the object does. */
function nameOf({ request, object }: AdmissionAttributes): string {
  return request.name || (object?.metadata.name ?? "");
}

/** The owner of a slice cannot be changed, so updates need no look. */
function checkSlice({ attributes, node }: NodeWrite): void {
  const { operation, object, old } = attributes;
  const slice = operation === "create" ? object : old;
  if (operation === "update" || slice.spec.nodeName === node) return;
  const story = `can only ${operation} ResourceSlice with the same NodeName as the requesting node`;
  throw refuse(attributes, story);
}

const kubeletSigners = ["{label}/kubelet-serving", "{label}/kube-apiserver-client-kubelet"];

/** Certificates of kubelets name the node that asks for them. */
function checkCertificate({ attributes, node, parts }: NodeWrite): void {
  const { operation, object } = attributes;
  const insecure = "AllowInsecureKubeletCertificateSigningRequests";
  if (operation !== "create" || parts.gates(insecure)) return;
  const signers = kubeletSigners.map((signer) => resolve(signer, parts.domain));
  if (!signers.includes(object.spec.signerName)) return;
  const pem = Buffer.from(object.spec.request ?? "", "base64").toString("latin1");
  const parsed = parseRequest(pem);
  if ("fault" in parsed) throw refuse(attributes, `unable to parse csr: ${parsed.fault}`);
  if (parsed.commonName === `${userPrefix}${node}`) return;
  const own = `can only create a node CSR with CN=${userPrefix}${node}`;
  throw refuse(attributes, own);
}

/** Certificates of pods are asked for by the node that runs the pod. */
async function checkPodCertificate({ attributes, node, parts }: NodeWrite): Promise<void> {
  const { request, object, operation } = attributes;
  if (operation !== "create") return;
  const { nodeName, podName, podUID, serviceAccountName } = object.spec;
  if (nodeName !== node) {
    const story = `PodCertificateRequest.Spec.NodeName=${q(nodeName)}, which is not the `;
    throw refuse(attributes, `${story}requesting node ${q(node)}`);
  }
  const pods = { group: "", plural: "pods", namespace: request.namespace };
  const pod = await parts.objects.find(pods, podName, request.context);
  const { spec = {}, metadata = {} } = pod ?? {};
  const isOwn =
    spec.nodeName === node &&
    metadata.uid === podUID &&
    spec.serviceAccountName === serviceAccountName;
  if (isOwn) return;
  throw refuse(attributes, `pod ${q(podName)} does not run on node ${q(node)} as it is described`);
}

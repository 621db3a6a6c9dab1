/** Token requests of kubelets on behalf of pods. */
import { goQuote, notFound, type StatusError } from "#meta";
import type { RequestContext } from "#registry";
import { resourceRequestInfo } from "#request";
import type { NodeRestrictionParts, NodeWrite } from "./node-write.ts";
import { forbiddenRequest } from "../../objects.ts";

/** Checks a token request: bound to a pod on the node, with an audience that the pod uses. */
export async function checkNodeToken(write: NodeWrite): Promise<void> {
  const { attributes, parts } = write;
  const { request, object, operation } = attributes;
  if (operation !== "create" || request.subresource !== "token") return;
  const pod = await boundPod(write);
  if (!parts.gates("ServiceAccountNodeAudienceRestriction")) return;
  const audiences: readonly string[] = object.spec.audiences ?? [];
  if (audiences.length > 1)
    throw forbiddenRequest(attributes, "node may only request 0 or 1 audiences");
  const [audience = ""] = audiences;
  if (await wants(parts, pod, { audience, life: request.context })) return;
  if (await mayAskFor(write, audience)) return;
  const story =
    `audience ${goQuote(audience)} not found in pod spec volume, ` +
    `${request.user.name} is not authorized to request tokens for this audience`;
  throw forbiddenRequest(attributes, story);
}

async function boundPod({ attributes, node, parts }: NodeWrite): Promise<any> {
  const { request, object } = attributes;
  const forbid = (why: string): StatusError => forbiddenRequest(attributes, why);
  const { apiVersion, kind, name, uid } = object.spec.boundObjectRef ?? {};
  if (apiVersion !== "v1" || kind !== "Pod" || !name) {
    throw forbid("node requested token not bound to a pod");
  }
  if (!uid) throw forbid("node requested token with a pod binding without a uid");
  const where = { group: "", plural: "pods", namespace: request.namespace };
  const pod = await parts.objects.find(where, name, request.context);
  if (pod === undefined) throw notFound({ group: "", plural: "pods" }, name);
  if (pod.metadata.uid !== uid) {
    throw forbid(
      `the UID in the bound object reference (${uid}) does not match the UID in record. ` +
        "The object might have been deleted and then recreated",
    );
  }
  if (pod.spec.nodeName !== node) {
    throw forbid("node requested token bound to a pod scheduled on a different node");
  }
  return pod;
}

interface Wanted {
  /** "" = the API server's. */
  readonly audience: string;
  readonly life: RequestContext;
}

/** Whether a volume of the pod requests such a token, directly or for its CSI driver. */
async function wants(parts: NodeRestrictionParts, pod: any, wanted: Wanted): Promise<boolean> {
  const volumes: readonly any[] = pod.spec.volumes ?? [];
  const tokens = volumes.flatMap(({ projected }) => projected?.sources ?? []);
  const isProjected = tokens.some(
    ({ serviceAccountToken: token }) => token && (token.audience ?? "") === wanted.audience,
  );
  if (isProjected) return true;
  for (const volume of volumes) {
    const driver = await driverOf(parts, pod, { volume, life: wanted.life });
    if (driver !== undefined && (await driverWants(parts, driver, wanted))) return true;
  }
  return false;
}

/** CSI driver of a volume, inline or of its claim; undefined = none. */
async function driverOf(
  { objects }: NodeRestrictionParts,
  { metadata }: any,
  { volume, life }: { readonly volume: any; readonly life: RequestContext },
): Promise<string | undefined> {
  if (volume.csi) return volume.csi.driver;
  const claimed: string | undefined = volume.ephemeral
    ? `${metadata.name}-${volume.name}`
    : volume.persistentVolumeClaim?.claimName;
  if (claimed === undefined) return undefined;
  const { namespace } = metadata;
  const claims = { group: "", plural: "persistentvolumeclaims", namespace };
  const { volumeName = "" } = (await objects.find(claims, claimed, life))?.spec ?? {};
  if (volumeName === "") return undefined;
  const volumes = { group: "", plural: "persistentvolumes" };
  return (await objects.find(volumes, volumeName, life))?.spec.csi?.driver;
}

async function driverWants(
  { objects }: NodeRestrictionParts,
  name: string,
  { audience, life }: Wanted,
): Promise<boolean> {
  const drivers = { group: "storage.{api}", plural: "csidrivers" };
  const driver = await objects.find(drivers, name, life);
  const requests: readonly any[] = driver?.spec.tokenRequests ?? [];
  return requests.some((request) => (request.audience ?? "") === audience);
}

/** Whether the node has verb `request-serviceaccounts-token-audience` on the audience as resource. */
async function mayAskFor({ attributes, parts }: NodeWrite, audience: string): Promise<boolean> {
  const { user, namespace, name } = attributes.request;
  const verb = "request-serviceaccounts-token-audience";
  const request = resourceRequestInfo({ verb, version: "v1", namespace, resource: audience, name });
  return (await parts.authorizer.authorize({ user, request })).verdict === "allow";
}

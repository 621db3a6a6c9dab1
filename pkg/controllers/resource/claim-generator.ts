import { type Draft, type Handle, type Informer, objectKey } from "#client";
import {
  type Pod,
  type PodResourceClaim,
  pods as podHandle,
  type ResourceClaim,
  resourceClaims,
  type ResourceClaimTemplate,
  resourceClaimTemplates,
} from "#kinds";
import { resolve } from "#meta";
import type { MetricDefinition } from "#request";
import type { ControllerContext } from "../controller-context.ts";
import { controllerRef } from "../owners/controller-ref.ts";
import { owningPodOf } from "./pod-claims.ts";

const index = "pod-owner";
/** Maximum length of generateName: 63 less five random characters and a hyphen. */
const maxPrefixLength = 57;
const createsMetric = "resourceclaim_controller_creates_total";

/** Metrics of the controller, named and labeled as in kube-controller-manager. */
export const resourceClaimMetrics: readonly MetricDefinition[] = [
  {
    name: createsMetric,
    kind: "counter",
    help: "Number of attempts to create ResourceClaims, by result and admin access.",
    labels: ["status", "admin_access"],
  },
];

/** Creates the ResourceClaims of pods from templates. */
export class ClaimGenerator {
  private readonly handle: Handle<ResourceClaim>;
  private readonly claims: Informer<ResourceClaim>;
  private readonly templates: Informer<ResourceClaimTemplate>;
  private readonly annotation: string;
  /** Claims that the informer does not show yet, by key. */
  private readonly created = new Map<string, ResourceClaim>();

  constructor(private readonly context: ControllerContext) {
    const { client, informers } = context;
    this.handle = resourceClaims(client.domain);
    this.claims = informers.of(this.handle);
    this.claims.addIndex(index, (claim) => {
      const owner = owningPodOf(claim);
      return owner === undefined ? [] : [owner.uid];
    });
    this.claims.subscribe(({ object }) => this.created.delete(objectKey(object)));
    this.templates = informers.of(resourceClaimTemplates(client.domain));
    this.annotation = resolve("resource.{label}/pod-claim-name", client.domain);
  }

  untilSynced(): Promise<void> {
    return this.templates.untilSynced();
  }

  /** Returns the name of the pod's generated claim; creates it if missing. */
  async ensure(pod: Pod, claim: PodResourceClaim): Promise<string> {
    const present = this.find(pod, claim.name);
    if (present !== undefined) return present.metadata.name;
    const { namespace = "" } = pod.metadata;
    const { resourceClaimTemplateName: templateName = "" } = claim;
    const template = this.templates.get(`${namespace}/${templateName}`);
    if (template === undefined) {
      const { plural, group } = resourceClaimTemplates(this.context.client.domain);
      const named = JSON.stringify(templateName);
      const missing = `${plural.slice(0, -1)}.${group} ${named} not found`;
      throw new Error(`resource claim template ${named}: ${missing}`);
    }
    const created = await this.create(this.draftOf(pod, claim, template));
    if (this.claims.get(objectKey(created)) === undefined) {
      this.created.set(objectKey(created), created);
    }
    return created.metadata.name;
  }

  private find(pod: Pod, name: string): ResourceClaim | undefined {
    const { uid } = pod.metadata;
    const uncached = [...this.created.values()].filter((claim) => owningPodOf(claim)?.uid === uid);
    return [...this.claims.indexed(index, uid), ...uncached].find(
      ({ metadata }) =>
        metadata.annotations?.[this.annotation] === name &&
        metadata.deletionTimestamp === undefined,
    );
  }

  private draftOf(
    pod: Pod,
    { name: claimName }: PodResourceClaim,
    { spec: { metadata = {}, spec } }: ResourceClaimTemplate,
  ): Draft<ResourceClaim> {
    const { namespace = "", name } = pod.metadata;
    const { labels = {}, annotations = {} } = metadata;
    return {
      metadata: {
        namespace,
        generateName: prefixOf(name, claimName),
        labels,
        annotations: { ...annotations, [this.annotation]: claimName },
        ownerReferences: [controllerRef(podHandle, pod)],
      },
      spec,
    };
  }

  private async create(draft: Draft<ResourceClaim>): Promise<ResourceClaim> {
    const { client, instruments } = this.context;
    const requests = draft.spec.devices?.requests ?? [];
    const isAdmin = requests.some(({ exactly }) => exactly?.adminAccess === true);
    const count = (status: string) =>
      instruments.add(createsMetric, { status, admin_access: String(isAdmin) }, 1);
    try {
      const created = await client.create(this.handle, draft);
      count("success");
      return created;
    } catch (error) {
      count("failure");
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`create ResourceClaim : ${reason}`, { cause: error });
    }
  }
}

/** Joins both names, each truncated in proportion to the limit. */
function prefixOf(pod: string, claim: string): string {
  const full = `${pod}-${claim}-`;
  if (full.length <= maxPrefixLength) return full;
  const cut = (name: string) =>
    name.slice(0, Math.floor((name.length * maxPrefixLength) / full.length));
  return `${cut(pod)}-${cut(claim)}`;
}

import type { ApiObject, DiscoveredResource } from "#client";
import { statusCodeOf, type ControllerContext } from "../controller-context.ts";

/** Result of one pass over the content of a namespace. */
export interface ContentDeletion {
  /** Group versions whose discovery failed, with the reason. */
  readonly discoveryFailures: readonly string[];
  /** Resources that could not be deleted or listed, with the reason. */
  readonly failures: readonly string[];
  /** Number of remaining objects by `plural.group`. */
  readonly remaining: ReadonlyMap<string, number>;
  /** Number of remaining objects by finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** Whether pods remain, so that the other content has not been looked at. */
  readonly podsRemain: boolean;
}

/**
 * Deletes all objects of a namespace and counts the remaining ones. Pods are deleted first: while some
 * remain, the objects that they may use are not deleted.
 */
export async function deleteAllContent(
  context: ControllerContext,
  namespace: string,
): Promise<ContentDeletion> {
  const { resources, failures } = await context.client.discover();
  const deleter = new NamespacedResourcesDeleter(context, namespace, failures);
  const all = deletableResources(resources);
  const pods = all.filter(isPods);
  await deleter.deleteAll(pods);
  deleter.podsRemain = deleter.remaining.size > 0;
  if (!deleter.podsRemain) await deleter.deleteAll(all.filter((resource) => !isPods(resource)));
  return deleter;
}

function isPods({ group, plural }: DiscoveredResource): boolean {
  return group === "" && plural === "pods";
}

/** Resources to delete, each in one version. */
function deletableResources(
  resources: readonly DiscoveredResource[],
): readonly DiscoveredResource[] {
  const found = new Map<string, DiscoveredResource>();
  for (const resource of resources) {
    const { namespaced, verbs } = resource;
    const name = nameOf(resource);
    const usable = namespaced && verbs.includes("delete") && verbs.includes("list");
    if (usable && !found.has(name)) found.set(name, resource);
  }
  return [...found.values()];
}

/** `plural.group`, e.g. `deployments.apps`; `pods.` in the core group. */
function nameOf({ plural, group }: DiscoveredResource): string {
  return `${plural}.${group}`;
}

class NamespacedResourcesDeleter implements ContentDeletion {
  readonly failures: string[] = [];
  readonly remaining = new Map<string, number>();
  readonly finalizers = new Map<string, number>();
  readonly discoveryFailures: readonly string[];
  podsRemain = false;

  constructor(
    private readonly context: ControllerContext,
    private readonly namespace: string,
    discoveryFailures: ReadonlyMap<string, string>,
  ) {
    this.discoveryFailures = [...discoveryFailures].map(([name, why]) => `${name}: ${why}`);
  }

  async deleteAll(resources: readonly DiscoveredResource[]): Promise<void> {
    for (const resource of resources) {
      try {
        await this.deleteResource(resource);
      } catch (error) {
        this.context.signal.throwIfAborted();
        // The resource is no longer served.
        if (statusCodeOf(error) === 404 || statusCodeOf(error) === 405) continue;
        this.failures.push(`${nameOf(resource)}: ${(error as Error).message}`);
      }
    }
  }

  private async deleteResource(resource: DiscoveredResource): Promise<void> {
    const { client } = this.context;
    const { namespace } = this;
    const present = await this.list(resource);
    if (present.length === 0) return;
    if (resource.verbs.includes("deletecollection")) {
      await client.deleteCollection(resource, { namespace });
    } else {
      for (const { metadata } of present) await this.deleteOne(resource, metadata);
    }
    const left = await this.list(resource);
    if (left.length > 0) this.remaining.set(nameOf(resource), left.length);
    for (const finalizer of left.flatMap(({ metadata }) => metadata.finalizers ?? [])) {
      this.finalizers.set(finalizer, (this.finalizers.get(finalizer) ?? 0) + 1);
    }
  }

  private async deleteOne(
    resource: DiscoveredResource,
    { name, uid }: ApiObject["metadata"],
  ): Promise<void> {
    const at = { namespace: this.namespace, name };
    const ignoreAbsent = (error: unknown) => {
      if (statusCodeOf(error) !== 404 && statusCodeOf(error) !== 409) throw error;
    };
    await this.context.client.delete(resource, at, { preconditions: { uid } }).catch(ignoreAbsent);
  }

  private async list(resource: DiscoveredResource): Promise<readonly ApiObject[]> {
    const { namespace } = this;
    const { items } = await this.context.client.list(resource, { namespace, metadataOnly: true });
    return items;
  }
}

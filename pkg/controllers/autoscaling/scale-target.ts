import type { Client, DiscoveredResource, Handle } from "#client";
import { goQuote, isConflict } from "#meta";
import type { ObjectReference, Scale } from "./autoscaling-kinds.ts";

/** Maximum attempts of a conflicting update of a scale. */
const updateAttempts = 5;

/** A `scaleTargetRef` with an invalid apiVersion. */
export class InvalidReference extends Error {
  override readonly name = "InvalidReference";
}

/** The scale of an object, and its resource. */
export interface FoundScale {
  readonly resource: Handle<Scale>;
  readonly scale: Scale;
}

/**
 * Reads the scale of an object of any kind; if several resources serve the kind, of the first that succeeds.
 * @throws Error whose message is that of the condition FailedGetScale
 */
export async function readScale(
  client: Client,
  { namespace, reference }: { readonly namespace: string; readonly reference: ObjectReference },
): Promise<FoundScale> {
  const { apiVersion = "", kind, name } = reference;
  const parts = apiVersion.split("/");
  if (parts.length > 2) throw new InvalidReference(`unexpected GroupVersion string: ${apiVersion}`);
  const group = parts.length === 2 ? parts[0]! : "";
  const { resources } = await client.discover();
  const mapped = resources.filter((each) => each.group === group && each.kind === kind);
  if (mapped.length === 0) {
    throw new Error(`no matches for kind ${goQuote(kind)} in group ${goQuote(group)}`);
  }
  let failure: unknown;
  for (const resource of mapped as readonly (DiscoveredResource & Handle<Scale>)[]) {
    try {
      const scale = await client.get(resource, { namespace, name, subresource: "scale" });
      return { resource, scale };
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}

/** Sets the replicas of a scale; retries conflicts. */
export async function updateScale(
  client: Client,
  { resource, scale }: FoundScale,
  replicas: number,
): Promise<void> {
  const { namespace = "", name } = scale.metadata;
  let latest = scale;
  for (let attempt = 1; ; attempt++) {
    // The body is an autoscaling/v1 Scale for every resource.
    const kind = { apiVersion: "autoscaling/v1", kind: "Scale" };
    const next = { ...latest, ...kind, spec: { ...latest.spec, replicas } };
    try {
      await client.update(resource, next, { subresource: "scale" });
      return;
    } catch (error) {
      if (!isConflict(error) || attempt === updateAttempts) throw error;
      latest = await client.get(resource, { namespace, name, subresource: "scale" });
    }
  }
}

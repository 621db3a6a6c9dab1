import type { Awaitable } from "#base";
import type { Client, DiscoveredResource, Draft, EventRecorder, Handle, Patch } from "#client";
import { isAlreadyExists } from "#meta";
import { noMatchesFor, type ServedKinds } from "./served-kinds.ts";
import type { StageClients } from "./stage-clients.ts";
import { StageFault } from "../compile/stage-fault.ts";
import { documentOf, type StagedKind, type StagedObject } from "../stage-kinds.ts";
import {
  type AppliedObject,
  type ApplyStep,
  finalizersPatch,
  type PatchStep,
  prepareApply,
  type PreparedPatch,
  preparePatch,
  type Step,
} from "../compile/steps.ts";
import type { TemplateFunctions } from "../template/execute.ts";

export interface StepRunnerOptions<T extends StagedObject> {
  readonly kind: StagedKind;
  readonly resource: Handle<T>;
  /** Writes the objects that Stages select. */
  readonly client: Client;
  /** Clients for other objects and impersonation. */
  readonly clients: StageClients;
  readonly served: ServedKinds;
  readonly recorder: EventRecorder;
}

/** Field manager of objects that Stages apply, as in KWOK. */
const fieldManager = "kwok";

/** Runs Stage steps on objects of one kind. */
export class StepRunner<T extends StagedObject> {
  constructor(private readonly options: StepRunnerOptions<T>) {}

  /** Runs a step; returns the written object, undefined = nothing or another object was written. */
  async run(step: Step, object: T, functions: TemplateFunctions): Promise<T | undefined> {
    switch (step.type) {
      case "patch":
        return this.render(step, object, functions);
      case "apply":
        return this.apply(step, object, functions);
      case "finalizers":
        return this.patch(this.options.client, object, finalizersPatch(step.finalizers, object));
      case "delete":
        return this.delete(object);
      default:
        return this.record(step.event, object);
    }
  }

  private async render(step: PatchStep, object: T, functions: TemplateFunctions) {
    const document = documentOf(this.options.kind, object);
    const patch = preparePatch(step, document, functions);
    return this.patch(await this.clientFor(step, this.options.client), object, patch);
  }

  private clientFor({ username }: { readonly username: string }, own: Client): Awaitable<Client> {
    return username === "" ? own : this.options.clients.as(username);
  }

  private async patch(
    client: Client,
    { metadata }: T,
    patch: PreparedPatch | undefined,
  ): Promise<T | undefined> {
    if (patch === undefined) return undefined;
    const { namespace = "", name } = metadata;
    const { subresource, type, body } = patch;
    return client.patch(this.options.resource, { namespace, name, subresource }, { type, body });
  }

  /** Creates an object of any kind, or patches it if it exists or if the step names a subresource. */
  private async apply(
    step: ApplyStep,
    object: T,
    functions: TemplateFunctions,
  ): Promise<undefined> {
    const { kind, clients, served } = this.options;
    const applied = prepareApply(step, documentOf(kind, object), functions);
    const resource = await served.find(applied.apiVersion, applied.kind);
    if (resource === undefined) {
      throw new StageFault(noMatchesFor(`${applied.apiVersion}/${applied.kind}`));
    }
    const body = placed(applied, resource, object);
    const client = await this.clientFor(step, clients.client);
    if (step.subresource === "" && (await isCreated(client, resource, body))) return undefined;
    const { namespace = "", name = "" } = body.metadata;
    if (name === "") throw new StageFault("template must include metadata.name");
    const at = { namespace, name, subresource: step.subresource };
    await client.patch(resource, at, patchOf(step, body));
    return undefined;
  }

  private async delete({ metadata }: T): Promise<undefined> {
    const { client, resource } = this.options;
    const { namespace = "", name, uid } = metadata;
    const options = { gracePeriodSeconds: 0, preconditions: { uid } };
    await client.delete(resource, { namespace, name }, options);
  }

  private record(event: Extract<Step, { readonly type: "event" }>["event"], object: T): undefined {
    const { recorder, resource } = this.options;
    const { type, reason = "", message: note = "" } = event;
    const what = reason || "Stage";
    const kind = type === "Warning" ? type : "Normal";
    recorder.record(resource, object, { type: kind, reason: what, action: what, note });
  }
}

/** The applied object, in the namespace of the selected one unless it names another. */
function placed(
  applied: AppliedObject,
  { namespaced }: DiscoveredResource,
  { metadata: { namespace: own = "" } }: StagedObject,
): AppliedObject {
  if (!namespaced) return applied;
  const { namespace = own } = applied.metadata;
  return { ...applied, metadata: { ...applied.metadata, namespace } };
}

async function isCreated(client: Client, resource: Handle, body: AppliedObject): Promise<boolean> {
  try {
    await client.create(resource, body as Draft<StagedObject>);
    return true;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return false;
  }
}

function patchOf({ as }: ApplyStep, body: AppliedObject): Patch {
  return as === "apply" ? { type: as, body, fieldManager, force: true } : { type: as, body };
}

/** Compiled steps of a Stage, and their requests for an object. */
import type {
  StageApply,
  StageEvent,
  StageFinalizers,
  StagePatch,
  StageSpec,
  StageStep,
} from "#kinds";
import { parseYaml } from "#meta";
import { StageFault } from "./stage-fault.ts";
import { stageFunctionNames } from "./stage-functions.ts";
import {
  isOfNodes,
  nodeKind,
  podKind,
  type StagedKind,
  type StagedObject,
} from "../stage-kinds.ts";
import type { TemplateFunctions } from "../template/execute.ts";
import { TemplateFault } from "../template/fault.ts";
import { Template } from "../template/template.ts";

export type Step =
  | { readonly type: "event"; readonly event: StageEvent }
  | { readonly type: "finalizers"; readonly finalizers: StageFinalizers }
  | { readonly type: "delete" }
  | PatchStep
  | ApplyStep;

/** Common fields of patches and applied objects. */
interface Rendered {
  /** "" = the object itself. */
  readonly subresource: string;
  readonly template: Template;
  /** User to impersonate; "" = none. */
  readonly username: string;
}

export interface PatchStep extends Rendered {
  readonly type: "patch";
  readonly as: "json" | "merge" | "strategic";
  readonly root: string;
}

export interface ApplyStep extends Rendered {
  readonly type: "apply";
  /** Patch type for an existing object. */
  readonly as: "apply" | "merge" | "strategic";
}

/** A rendered patch. */
export interface PreparedPatch {
  readonly type: "json" | "merge" | "strategic";
  readonly subresource: string;
  readonly body: unknown;
}

/** An object that a Stage creates, or patches if it exists. */
export interface AppliedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly namespace?: string;
    readonly name?: string;
    readonly generateName?: string;
  };
}

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

/** Subresources of simulated pods and nodes that a Stage may patch; "" = the object. */
const subresourcesOf: Readonly<Record<StagedKind, readonly string[]>> = {
  [podKind]: ["", "status", "resize", "ephemeralcontainers"],
  [nodeKind]: ["", "status"],
};
const subresourceName = /^[a-z]{0,63}$/;
/** Maximum number of JSON values of a patch. */
const maxValues = 50_000;

/** @throws StageFault */
export function stepsOf({ steps = [], next }: StageSpec, kind: StagedKind): readonly Step[] {
  const all = steps.length > 0 ? steps : stepsOfNext(next);
  const flat = all.flatMap((step) => flatten(step, kind));
  const deleted = flat.findIndex(({ type }) => type === "delete");
  // Drops writes after a delete step.
  return flat.filter(({ type }, at) => deleted < 0 || at <= deleted || type === "event");
}

/** Steps of the deprecated field `next`, in KWOK's order. */
function stepsOfNext(next: StageSpec["next"] = {}): readonly StageStep[] {
  const { event, finalizers, patches = [], statusTemplate = "", statusPatchAs } = next;
  const steps: StageStep[] = [];
  if (event !== undefined) steps.push({ event });
  if (finalizers !== undefined) steps.push({ finalizers });
  for (const patch of patches) steps.push({ patch });
  if (patches.length === 0 && statusTemplate !== "") {
    const subresource = next.statusSubresource ?? "status";
    const patch = { subresource, root: "status", template: statusTemplate };
    const impersonation = statusPatchAs === undefined ? {} : { impersonation: statusPatchAs };
    steps.push({ patch: { ...patch, ...impersonation } });
  }
  if (next.delete === true) steps.push({ delete: true });
  return steps;
}

/** Actions of one step, in KWOK's order. */
function flatten(step: StageStep, kind: StagedKind): readonly Step[] {
  const flat: Step[] = [];
  if (step.event !== undefined) flat.push({ type: "event", event: step.event });
  if (step.finalizers !== undefined) flat.push({ type: "finalizers", finalizers: step.finalizers });
  if (step.delete === true) return [...flat, { type: "delete" }];
  if (step.patch !== undefined) flat.push(patchStep(step.patch, kind));
  if (step.apply !== undefined) flat.push(applyStep(step.apply, kind));
  return flat;
}

function patchStep(patch: StagePatch, kind: StagedKind): PatchStep {
  const { root = "", type = isOfNodes(kind) ? "strategic" : "merge" } = patch;
  if (type !== "json" && type !== "merge" && type !== "strategic") {
    throw new StageFault(`patch type ${JSON.stringify(type)} is not supported`);
  }
  return { type: "patch", as: type, root, ...renderedOf(patch, kind, subresourcesOf[kind]) };
}

function applyStep(apply: StageApply, kind: StagedKind): ApplyStep {
  const { type = "apply" } = apply;
  if (type !== "apply" && type !== "merge" && type !== "strategic") {
    throw new StageFault(`apply type ${JSON.stringify(type)} is not supported`);
  }
  return { type: "apply", as: type, ...renderedOf(apply, kind) };
}

/** @param allowed subresources; undefined = all */
function renderedOf(
  { subresource = "", template = "", impersonation }: Omit<StagePatch & StageApply, "type">,
  kind: StagedKind,
  allowed?: readonly string[],
): Rendered {
  const username = impersonation?.username ?? "";
  if (username !== "" && isOfNodes(kind)) {
    throw new StageFault("impersonation is not supported for Pods and Nodes");
  }
  if (!(allowed?.includes(subresource) ?? subresourceName.test(subresource))) {
    throw new StageFault(`subresource ${JSON.stringify(subresource)} is not supported`);
  }
  return { subresource, username, template: compileTemplate(template, kind) };
}

function compileTemplate(text: string, kind: StagedKind): Template {
  try {
    return new Template(text, stageFunctionNames(kind));
  } catch (error) {
    if (!(error instanceof TemplateFault)) throw error;
    throw new StageFault(`template: ${error.message}`);
  }
}

/**
 * Renders the patch of a step, with the object's uid as precondition; undefined = no change.
 * @throws RenderFault, YamlFault, TooManyValues, StageFault
 */
export function preparePatch(
  { as, subresource, root, template }: PatchStep,
  object: StagedObject,
  functions: TemplateFunctions,
): PreparedPatch | undefined {
  const { value } = parseYaml(template.render(object, functions), maxValues);
  if (value === null || value === undefined) return undefined;
  const { uid } = object.metadata;
  if (as === "json") {
    if (!Array.isArray(value)) throw new StageFault("a JSON patch is a list");
    const operations = (value as readonly Operation[]).map((operation) =>
      root === "" ? operation : { ...operation, path: `/${root}${operation.path}` },
    );
    return { type: as, subresource, body: [sameObject(uid), ...operations] };
  }
  const whole = root === "" ? value : { [root]: value };
  if (typeof whole !== "object" || Array.isArray(whole)) {
    throw new StageFault("a merge patch is an object");
  }
  const { metadata } = whole as { readonly metadata?: object };
  return { type: as, subresource, body: { ...whole, metadata: { ...metadata, uid } } };
}

/**
 * The object that a step applies.
 * @throws RenderFault, YamlFault, TooManyValues, StageFault
 */
export function prepareApply(
  { template }: ApplyStep,
  object: StagedObject,
  functions: TemplateFunctions,
): AppliedObject {
  const { value } = parseYaml(template.render(object, functions), maxValues);
  const applied = value as Partial<AppliedObject> | null | undefined;
  if (typeof applied?.apiVersion !== "string" || typeof applied.kind !== "string") {
    throw new StageFault("template must include apiVersion and kind");
  }
  if (typeof applied.metadata !== "object" || applied.metadata === null) {
    throw new StageFault("template must include metadata");
  }
  return applied as AppliedObject;
}

/** The patch that changes the finalizers of an object; undefined = nothing changes. */
export function finalizersPatch(
  { add = [], remove = [], empty }: StageFinalizers,
  { metadata }: StagedObject,
): PreparedPatch | undefined {
  const { finalizers: known = [], uid } = metadata;
  const removed = new Set(remove.map(({ value }) => value));
  const kept = empty === true ? [] : known.filter((each) => !removed.has(each));
  const added = add.map(({ value = "" }) => value).filter((each) => !kept.includes(each));
  const wanted = [...kept, ...new Set(added)];
  if (wanted.length === known.length && wanted.every((each, at) => each === known[at])) {
    return undefined;
  }
  const operations: Operation[] = [
    ...(known.length === 0 ? [] : [{ op: "test", path: "/metadata/finalizers", value: known }]),
    { op: "add", path: "/metadata/finalizers", value: wanted },
  ];
  return { type: "json", subresource: "", body: [sameObject(uid), ...operations] };
}

function sameObject(uid: string): Operation {
  return { op: "test", path: "/metadata/uid", value: uid };
}

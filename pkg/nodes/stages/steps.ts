/** What a Stage does to an object, step by step. */
import type { StageEvent, StageFinalizers, StagePatch, StageSpec, StageStep } from "#kinds";
import { parseYaml } from "#meta";
import { StageFault } from "./stage-fault.ts";
import type { StagedKind, StagedObject } from "./stage-kinds.ts";
import { stageFunctionNames } from "./stage-functions.ts";
import type { TemplateFunctions } from "./template/execute.ts";
import { TemplateFault } from "./template/fault.ts";
import { Template } from "./template/template.ts";

export type Step =
  | { readonly type: "event"; readonly event: StageEvent }
  | { readonly type: "finalizers"; readonly finalizers: StageFinalizers }
  | { readonly type: "delete" }
  | PatchStep;

interface PatchStep {
  readonly type: "patch";
  readonly as: "json" | "merge" | "strategic";
  /** "" = the object itself. */
  readonly subresource: string;
  readonly root: string;
  readonly template: Template;
}

/** A patch as it is sent. */
export interface PreparedPatch {
  readonly type: "json" | "merge" | "strategic";
  readonly subresource: string;
  readonly body: unknown;
}

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

/** Subresources that a Stage may patch. */
const subresources: Readonly<Record<StagedKind, readonly string[]>> = {
  Pod: ["", "status", "resize", "ephemeralcontainers"],
  Node: ["", "status"],
};
/** Most JSON values of a patch. */
const mostValues = 50_000;

/** @throws StageFault */
export function stepsOf({ steps = [], next }: StageSpec, kind: StagedKind): readonly Step[] {
  const all = steps.length > 0 ? steps : stepsOfNext(next);
  const flat = all.flatMap((step) => flatten(step, kind));
  const deleted = flat.findIndex(({ type }) => type === "delete");
  // What is deleted is not written again.
  return flat.filter(({ type }, at) => deleted < 0 || at <= deleted || type === "event");
}

/** The steps of the deprecated field `next`, in the order in which KWOK takes them. */
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

function flatten(step: StageStep, kind: StagedKind): readonly Step[] {
  if (step.apply !== undefined) throw new StageFault("apply is not supported");
  const flat: Step[] = [];
  if (step.event !== undefined) flat.push({ type: "event", event: step.event });
  if (step.finalizers !== undefined) flat.push({ type: "finalizers", finalizers: step.finalizers });
  if (step.delete === true) flat.push({ type: "delete" });
  if (step.patch !== undefined) flat.push(patchStep(step.patch, kind));
  return flat;
}

function patchStep(patch: StagePatch, kind: StagedKind): PatchStep {
  const { subresource = "", root = "", template = "", type = "strategic", impersonation } = patch;
  if (impersonation !== undefined && impersonation.username !== "") {
    throw new StageFault("impersonation is not supported for Pods and Nodes");
  }
  if (!subresources[kind].includes(subresource)) {
    throw new StageFault(`subresource ${JSON.stringify(subresource)} is not supported`);
  }
  if (type !== "json" && type !== "merge" && type !== "strategic") {
    throw new StageFault(`patch type ${JSON.stringify(type)} is not supported`);
  }
  return { type: "patch", as: type, subresource, root, template: compileTemplate(template) };
}

function compileTemplate(text: string): Template {
  try {
    return new Template(text, stageFunctionNames);
  } catch (error) {
    if (!(error instanceof TemplateFault)) throw error;
    throw new StageFault(`template: ${error.message}`);
  }
}

/**
 * The patch of a step for an object, which only this object accepts; undefined = it changes nothing.
 * @throws RenderFault, YamlFault, TooManyValues
 */
export function preparePatch(
  { as, subresource, root, template }: PatchStep,
  object: StagedObject,
  functions: TemplateFunctions,
): PreparedPatch | undefined {
  const { value } = parseYaml(template.render(object, functions), mostValues);
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

/** The patch that changes the finalizers of an object; undefined = they are as they are to be. */
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

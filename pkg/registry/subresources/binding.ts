import { assert, printJson } from "#base";
import { badRequest, conflict, plainFailure, problemText, type Resource } from "#meta";
import { maxReportedProblems, Problems } from "#schema";
import { writeOperationOptions } from "../admission/options.ts";
import { decodeBody } from "../write/decode-body.ts";
import type {
  AdmissionAttributes,
  Body,
  ResourceRequest,
  WriteOptions,
  WriteResponse,
} from "../contract.ts";
import { type RegistryContext, hookContext } from "../context.ts";
import { matchNamespace, resetSystemFields } from "../write/metadata.ts";
import { runAdmission } from "../admission/handler.ts";
import { checkPreconditions } from "../write/preconditions.ts";
import { reportingWarnings } from "../write/write.ts";
import { changeStored } from "./change-stored.ts";
import { createdStatus } from "./virtual-item.ts";
import { setPodCondition } from "./pod-conditions.ts";

/** The resource in the details of a conflict: kube-apiserver names the subresource. */
const bindingSubresource = { group: "", plural: "pods/binding" };

/**
 * POST to `pods/{name}/binding` and `bindings`: assigns the pod to a node, and adds the binding's
 * annotations to it; with the feature gate PodTopologyLabelsAdmission also its labels.
 */
export async function bind(
  registry: RegistryContext,
  request: ResourceRequest,
  { body, options }: { readonly body: Body; readonly options: WriteOptions },
): Promise<WriteResponse> {
  const bindings = coreResource(registry, "bindings");
  const decoded = decodeBody(registry, { ...request, resource: bindings }, body, options);
  const { object: binding, warnings } = decoded;
  await reportingWarnings(warnings, () =>
    bindDecoded(registry, request, { binding, warnings, options }),
  );
  return createdStatus(registry, warnings);
}

interface DecodedBinding {
  readonly binding: any;
  readonly warnings: string[];
  readonly options: WriteOptions;
}

async function bindDecoded(
  registry: RegistryContext,
  request: ResourceRequest,
  { binding, warnings, options }: DecodedBinding,
): Promise<void> {
  const bindings = coreResource(registry, "bindings");
  const { metadata } = binding;
  matchNamespace(request, metadata);
  // kube-apiserver keeps the uid, a precondition, in the subresource only.
  if (request.subresource === "") resetSystemFields(metadata);
  const name: string = metadata.name ?? "";
  if (request.subresource !== "" && name !== request.name) {
    throw badRequest("name in URL does not match name in Binding object");
  }
  checkBinding(registry, request, { binding, kind: bindings.kind });
  const { dryRun } = options;
  const attributes: AdmissionAttributes = {
    request,
    operation: "create",
    dryRun,
    object: binding,
    old: undefined,
    bodyResource: bindings,
    options: writeOperationOptions("CreateOptions", options),
  };
  await runAdmission(registry, attributes, warnings);

  const pods = { ...request, resource: coreResource(registry, "pods"), name, subresource: "" };
  await changeStored(registry, pods, {
    check: (current) =>
      checkPreconditions(registry, pods, {
        uid: metadata.uid || undefined,
        resourceVersion: metadata.resourceVersion || undefined,
        current,
      }),
    change: (pod) => assign(registry, pod, binding),
    dryRun,
  });
}

/** Validates the binding; errors are plain 500s in kube-apiserver, not 422. */
function checkBinding(
  registry: RegistryContext,
  request: ResourceRequest,
  { binding, kind }: { readonly binding: any; readonly kind: Resource["kind"] },
): void {
  const problems = new Problems();
  kind.hooks.validate?.(binding, problems, hookContext(registry, request));
  const texts = problems.list
    .slice(0, maxReportedProblems)
    .map((problem) => `${problem.field}: ${problemText(problem)}`);
  if (texts.length === 0) return;
  throw plainFailure(texts.length === 1 ? texts[0]! : `[${texts.join(", ")}]`);
}

function assign(registry: RegistryContext, pod: any, binding: any): void {
  const { metadata, spec } = pod;
  const { name } = metadata;
  const conflictError = (reason: string) =>
    conflict(bindingSubresource, name, `pod ${name} ${reason}`);
  if (metadata.deletionTimestamp) {
    throw conflictError("is being deleted, cannot be assigned to a host");
  }
  if (spec.nodeName) {
    throw conflictError(`is already assigned to node ${printJson(spec.nodeName)}`);
  }
  if (spec.schedulingGates?.length) throw conflictError("has non-empty .spec.schedulingGates");
  spec.nodeName = binding.target.name;
  if (registry.gates("ClearingNominatedNodeNameAfterBinding")) delete pod.status.nominatedNodeName;
  const { annotations, labels } = binding.metadata;
  if (registry.gates("PodTopologyLabelsAdmission") && Object.keys(labels ?? {}).length > 0) {
    metadata.labels = mergeKeys(metadata.labels, labels);
  }
  if (annotations !== undefined && Object.keys(annotations).length > 0) {
    metadata.annotations = mergeKeys(metadata.annotations, annotations);
  }
  setPodCondition(pod, { type: "PodScheduled", status: "True" }, registry.clock.now());
}

/** Both maps in one without a prototype, since a key may be `__proto__`. */
function mergeKeys(base: object | undefined, added: object): object {
  const merged = { __proto__: null, ...base, ...added };
  return merged;
}

function coreResource({ catalog }: RegistryContext, plural: string): Resource {
  const resource = catalog.find("", "v1", plural);
  assert(resource !== undefined, `the catalog has ${plural}`);
  return resource;
}

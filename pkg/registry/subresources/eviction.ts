import { atOnce, assert, deepClone, printJson } from "#base";
import {
  badRequest,
  invalid,
  notFound,
  parseJsonRequest,
  plainFailure,
  type Resource,
  selectorFromLabelSelector,
  StatusError,
  timeout,
} from "#meta";
import { Path, Problems, unwrapEnvelope } from "#schema";
import { writeOperationOptions } from "../admission/options.ts";
import { decodeBody } from "../write/decode-body.ts";
import type {
  AdmissionAttributes,
  Body,
  DeleteOptions,
  ResourceRequest,
  WriteResponse,
  WriteOptions,
} from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { matchNamespace } from "../write/metadata.ts";
import { updateManagedFields } from "../write/managed-fields.ts";
import { runAdmission } from "../admission/handler.ts";
import { changeBySubresource } from "../write/pipeline.ts";
import { type ObjectChange, reportingWarnings } from "../write/write.ts";
import { get } from "../read/get.ts";
import { checkDeletePreconditions, deleteObject } from "../delete/delete.ts";
import {
  checkDeleteOptions,
  ignoreReadErrorField,
  type RawDeleteOptions,
} from "../delete/delete-options.ts";
import { collectionPrefix, StoredItem } from "../codec/stored.ts";
import { changeStored } from "./change-stored.ts";
import { multipleBudgets, takeDisruption, violation } from "./disruption-budget.ts";
import { createdStatus, subresourceKind } from "./virtual-item.ts";
import { isReady, setPodCondition } from "./pod-conditions.ts";

/** Limit of attempts to delete a pod that other writers change. */
const maxAttempts = 20;

/**
 * POST to `pods/{name}/eviction`: deletes the pod if its PodDisruptionBudget, if any, allows that.
 * Throws 429 if it does not.
 */
export async function evict(
  registry: RegistryContext,
  request: ResourceRequest,
  { body, options }: { readonly body: Body; readonly options: WriteOptions },
): Promise<WriteResponse> {
  const resource = evictionResource(registry, body);
  const decoded = decodeBody(registry, { ...request, resource }, body, options);
  const { object: eviction, warnings } = decoded;
  return reportingWarnings(warnings, () =>
    evictDecoded(registry, request, { eviction, warnings, resource, options }),
  );
}

interface DecodedEviction {
  readonly eviction: any;
  readonly warnings: string[];
  /** The Eviction of the body's version. */
  readonly resource: Resource;
  readonly options: WriteOptions;
}

async function evictDecoded(
  registry: RegistryContext,
  request: ResourceRequest,
  { eviction, warnings, resource, options }: DecodedEviction,
): Promise<WriteResponse> {
  matchNamespace(request, eviction.metadata);
  if (eviction.metadata.name !== request.name) {
    throw badRequest("name in URL does not match name in Eviction object");
  }
  const deletion = deletionOf(eviction, request.name, options.dryRun);
  const attributes: AdmissionAttributes = {
    request,
    operation: "create",
    dryRun: deletion.dryRun.length > 0,
    object: eviction,
    old: undefined,
    bodyResource: resource,
    options: writeOperationOptions("CreateOptions", options),
  };
  await runAdmission(registry, attributes, warnings);
  await evictPod(registry, { ...request, subresource: "" }, deletion);
  return createdStatus(registry, warnings);
}

/** The Eviction of the body's version: policy/v1 or v1beta1. */
function evictionResource(registry: RegistryContext, body: Body): Resource {
  const isBeta = apiVersionOf(body) === "policy/v1beta1";
  return subresourceKind(registry, isBeta ? "policy/v1beta1" : "policy/v1", "Eviction");
}

/** The apiVersion of a body before decoding; undefined if it is malformed. */
function apiVersionOf({ bytes, format }: Body): unknown {
  if (format === "protobuf") return unwrapEnvelope(bytes)?.apiVersion;
  if (format !== "json") return undefined;
  try {
    return (parseJsonRequest(bytes).value as { readonly apiVersion?: unknown } | null)?.apiVersion;
  } catch {
    return undefined;
  }
}

/**
 * The options of the deletion, which are validated when the pod is deleted.
 * @throws StatusError 422 or 500 for options that contradict an eviction or its dry run
 */
function deletionOf(eviction: any, name: string, isDryRun: boolean): RawDeleteOptions {
  const sent = eviction.deleteOptions;
  const grace = sent?.gracePeriodSeconds;
  const dryRun: readonly string[] = sent?.dryRun ?? [];
  if (sent?.[ignoreReadErrorField] === true) {
    const problems = new Problems();
    const path = Path.of("deleteOptions").child(ignoreReadErrorField);
    problems.invalid(path, true, "can not be set for pod eviction, try after removing the option");
    throw invalid({ group: "policy", kind: "Eviction" }, name, problems);
  }
  if (isDryRun && dryRun.length > 0 && dryRun.join() !== "All") {
    const values = `[All] and [${dryRun.join(" ")}]`;
    throw plainFailure(`Non-matching dry-run options in request and content: ${values}`);
  }
  return {
    dryRun: isDryRun ? ["All"] : dryRun,
    gracePeriodSeconds: grace === undefined ? undefined : Number(grace),
    propagationPolicy: sent?.propagationPolicy,
    orphanDependents: sent?.orphanDependents,
    preconditions: sent?.preconditions,
    ignoreReadError: false,
  };
}

async function evictPod(
  registry: RegistryContext,
  request: ResourceRequest,
  options: RawDeleteOptions,
): Promise<void> {
  const isPinned = options.preconditions?.resourceVersion !== undefined;
  for (let attempt = 1; ; attempt++) {
    const { object: pod } = await get(registry, request, { resourceVersion: "" });
    if (!canIgnoreBudget(pod)) return evictWithBudget(registry, request, { pod, options });
    try {
      return await markAndDelete(registry, request, isPinned ? options : pinned(options, pod));
    } catch (error) {
      const mayRetry = !isPinned && isConflict(error);
      if (!mayRetry || isUidConflict(options, pod) || attempt === maxAttempts) throw error;
    }
  }
}

function isUidConflict({ preconditions }: RawDeleteOptions, pod: any): boolean {
  return preconditions?.uid !== undefined && preconditions.uid !== pod.metadata.uid;
}

/** Whether budgets do not protect the pod: it is pending, completed or terminating. */
function canIgnoreBudget({ metadata, status }: any): boolean {
  const isNotRunning = ["Succeeded", "Failed", "Pending"].includes(status.phase);
  return isNotRunning || Boolean(metadata.deletionTimestamp);
}

async function evictWithBudget(
  registry: RegistryContext,
  request: ResourceRequest,
  { pod, options }: { readonly pod: any; readonly options: RawDeleteOptions },
): Promise<void> {
  const budgets = await budgetsOf(registry, request, pod);
  if (budgets.length > 1) throw multipleBudgets();
  const [budget] = budgets;
  if (budget === undefined) return markAndDelete(registry, request, options);
  if (!isReady(pod) && allowsUnhealthyEviction(budget.object)) {
    // Pinned to the resourceVersion, as the pod must still be unhealthy when it is deleted.
    return markAndDelete(registry, request, pinned(options, pod)).catch((error: unknown) => {
      const isPinned = options.preconditions?.resourceVersion !== undefined;
      const hasChanged = isConflict(error) && !isPinned && !isUidConflict(options, pod);
      throw hasChanged ? violation(budget.object.metadata.name, "unobserved") : error;
    });
  }
  await updateBudget(registry, request, { budget, dryRun: options.dryRun.length > 0 });
  await markAndDelete(registry, request, options);
}

async function budgetsOf(
  registry: RegistryContext,
  request: ResourceRequest,
  pod: any,
): Promise<readonly StoredItem[]> {
  const labels = pod.metadata.labels ?? {};
  if (Object.keys(labels).length === 0) return [];
  const budgets = { ...request, resource: budgetResource(registry), name: "" };
  const { signal } = request.context;
  const { entries } = await registry.store.list(collectionPrefix(budgets), { signal });
  return entries
    .map((entry) => new StoredItem(registry, budgets, entry))
    .filter(({ object }) => selectorFromLabelSelector(object.spec.selector).matches(labels));
}

function budgetResource({ catalog }: RegistryContext): Resource {
  const resource = catalog.find("policy", "v1", "poddisruptionbudgets");
  assert(resource !== undefined, "the catalog has disruption budgets");
  return resource;
}

/** Whether the budget allows evicting an unhealthy pod (KEP-3017, unhealthyPodEvictionPolicy). */
function allowsUnhealthyEviction({ spec, status }: any): boolean {
  if (spec.unhealthyPodEvictionPolicy === "AlwaysAllow") return true;
  return status.currentHealthy >= status.desiredHealthy && status.desiredHealthy > 0;
}

/**
 * Takes one allowed disruption from the status of the budget. Retries conflicts for up to 20 s, then
 * throws a Timeout (504).
 */
async function updateBudget(
  registry: RegistryContext,
  request: ResourceRequest,
  { budget, dryRun }: { readonly budget: StoredItem; readonly dryRun: boolean },
): Promise<void> {
  const { name } = budget.object.metadata;
  const signal = AbortSignal.any([request.context.signal, AbortSignal.timeout(budgetTimeoutMs)]);
  const { resource } = budget;
  const budgetRequest: ResourceRequest = {
    ...request,
    resource,
    name,
    subresource: "status",
    userAgent: "kube-apiserver",
    context: { signal },
  };
  const now = registry.clock.now();
  const change: ObjectChange = (_registry, current) => {
    if (current === undefined) throw notFound(resource, name);
    const object = deepClone(current.object);
    takeDisruption(object, request.name, now);
    const budgetUpdate = { object, old: current.object, fieldManager: "" };
    atOnce(updateManagedFields(registry, budgetRequest, budgetUpdate));
    return { object, warnings: [] };
  };
  try {
    await changeBySubresource(registry, budgetRequest, { change, uid: undefined, dryRun });
  } catch (error) {
    if (!signal.aborted || request.context.signal.aborted) throw error;
    const message = `couldn't update PodDisruptionBudget ${printJson(name)} due to conflicts`;
    throw timeout(message, 10);
  }
}

const budgetTimeoutMs = 20_000;

/** Sets the condition DisruptionTarget, then deletes the pod without admission of the delete. */
async function markAndDelete(
  registry: RegistryContext,
  request: ResourceRequest,
  sent: RawDeleteOptions,
): Promise<void> {
  const { clock, catalog } = registry;
  const options = checkDeleteOptions(sent, catalog.domain);
  const condition = {
    type: "DisruptionTarget",
    status: "True",
    reason: "EvictionByEvictionAPI",
    message: "Eviction API: evicting",
  };
  const marked = await changeStored(registry, request, {
    check: (current) => checkDeletePreconditions(request, current, options),
    change: (pod) => setPodCondition(pod, condition, clock.now()),
    dryRun: options.dryRun,
  });
  const isPinned = Boolean(options.preconditions?.resourceVersion);
  const deletion = isPinned ? pinned(options, marked.object) : options;
  await deleteObject({ ...registry, mutating: [], validating: [] }, request, deletion);
}

/** Adds the pod's resourceVersion as a precondition. */
function pinned<T extends RawDeleteOptions | DeleteOptions>(options: T, { metadata }: any): T {
  const { resourceVersion } = metadata;
  return { ...options, preconditions: { ...options.preconditions, resourceVersion } };
}

function isConflict(error: unknown): boolean {
  return error instanceof StatusError && error.status.reason === "Conflict";
}

/** Calls webhooks (plugins MutatingAdmissionWebhook and ValidatingAdmissionWebhook). */
import { costLimits } from "#cel";
import { compareUtf8, deepEqual, heldDuring, printJson } from "#base";
import {
  type Catalog,
  escapeHtml,
  internalError,
  jsonPatch,
  PatchFault,
  plainFailure,
  type Resource,
} from "#meta";
import type { AdmissionAttributes, AdmissionHandler, ServerAccess } from "#registry";
import {
  type Authorizer,
  type Dialer,
  type Instruments,
  noInstruments,
  type Tracer,
} from "#request";
import { DecodeFault, JsonFault } from "#schema";
import {
  admissionRequest,
  authorizerBindings,
  Evaluation,
  FollowedKind,
  authorizationRequest,
  kindFault,
  matchedAs,
  MatchIndex,
  meetsConditions,
  namespacesSelect,
  objectsSelect,
  requestTail,
  VersionedAttributes,
  type VersionedAttributesOptions,
} from "../dynamic/index.ts";
import { type ObjectReader, forbiddenRequest } from "../objects.ts";
import { type AskedWebhook, countWebhook } from "../metrics.ts";
import { withEarlierWarnings, type ReinvocationContext } from "../reinvocation.ts";
import { Caller, CallingFault } from "./caller.ts";
import { type Hook, hooksOf, type WebhookConfiguration } from "./hook.ts";
import { WebhookRejection } from "./refusal.ts";
import { operationsIn, type WebhookResponse } from "./review.ts";

export interface WebhookParts extends VersionedAttributesOptions {
  readonly objects: ObjectReader;
  readonly authorizer: Authorizer;
  readonly dialer: Dialer;
  /** Records calls. */
  readonly tracer?: Tracer;
  readonly instruments?: Instruments;
}

/** A webhook with its index among all webhooks, for audit annotations. */
interface IndexedHook {
  readonly hook: Hook;
  readonly index: number;
}

/** A webhook to call, with the object in the version of `as`. */
interface MatchedHook extends IndexedHook {
  readonly as: Resource;
}

/** All mutating or all validating webhooks, sorted by names of their configurations. */
class HookSet {
  readonly followed: FollowedKind<WebhookConfiguration>;
  #from: readonly WebhookConfiguration[] | undefined;
  #index: MatchIndex<IndexedHook> | undefined;

  constructor(
    plural: string,
    private readonly catalog: Catalog,
  ) {
    this.followed = new FollowedKind(plural, ["v1"]);
  }

  get index(): MatchIndex<IndexedHook> {
    const { all } = this.followed;
    if (this.#index === undefined || this.#from !== all) {
      const placed = all.flatMap(hooksOf).map((hook, index) => ({ hook, index }));
      this.#index = new MatchIndex(placed, matchingsOf, this.catalog);
      this.#from = all;
    }
    return this.#index;
  }
}

function matchingsOf({ hook }: IndexedHook) {
  const { rules = [], matchPolicy } = hook.spec;
  return [{ rules, equivalent: matchPolicy !== "Exact" }];
}

export class Webhooks {
  readonly #mutating: HookSet;
  readonly #validating: HookSet;
  readonly #caller: Caller;

  constructor(private readonly parts: WebhookParts) {
    const { catalog, objects, tracer, dialer } = parts;
    this.#mutating = new HookSet("mutatingwebhookconfigurations", catalog);
    this.#validating = new HookSet("validatingwebhookconfigurations", catalog);
    this.#caller = new Caller({ objects, api: catalog.domain.api, tracer, dialer });
  }

  /** Watches the configurations; resolves when the stored ones are in force. */
  async follow(options: ServerAccess): Promise<void> {
    options.signal.addEventListener("abort", () => this.#caller.close(), { once: true });
    const sets = [this.#mutating, this.#validating];
    await Promise.all(sets.map(({ followed }) => followed.follow(options)));
  }

  /** Calls the webhooks sequentially, each with the object as patched so far. */
  mutate(
    attributes: AdmissionAttributes,
    reinvocation: ReinvocationContext,
  ): ReturnType<AdmissionHandler> {
    const candidates = candidatesFor(this.#mutating, attributes);
    return candidates.length === 0
      ? undefined
      : this.#mutateBy(candidates, attributes, reinvocation);
  }

  async #mutateBy(
    candidates: Candidates,
    attributes: AdmissionAttributes,
    reinvocation: ReinvocationContext,
  ): Promise<readonly string[]> {
    const state = reinvocation.stateOf("webhooks");
    if (reinvocation.round > 0) state.startRound(attributes.object);
    const warnings: string[] = [];
    const reviewed = new VersionedAttributes(attributes, this.parts);
    await withEarlierWarnings(warnings, async () => {
      for (const candidate of candidates) {
        const { hook } = candidate.entry;
        const due = await this.#match(candidate, reviewed);
        if (due === undefined || (reinvocation.round > 0 && !state.isDue(hook))) continue;
        if (await this.#callAndPatch(due, reviewed, { reinvocation, warnings })) {
          state.objectChanged();
          reinvocation.requestReinvocation();
        }
        if (hook.spec.reinvocationPolicy === "IfNeeded") state.called(hook);
      }
    });
    state.endRound(attributes.object);
    return warnings;
  }

  /** Calls all webhooks concurrently; of several rejections reports that of the first webhook. */
  validate(attributes: AdmissionAttributes): ReturnType<AdmissionHandler> {
    const candidates = candidatesFor(this.#validating, attributes);
    return candidates.length === 0 ? undefined : this.#validateBy(candidates, attributes);
  }

  async #validateBy(
    candidates: Candidates,
    attributes: AdmissionAttributes,
  ): Promise<readonly string[]> {
    const reviewed = new VersionedAttributes(attributes, this.parts);
    const due: MatchedHook[] = [];
    for (const candidate of candidates) {
      const found = await this.#match(candidate, reviewed);
      if (found !== undefined) due.push(found);
    }
    const warnings: string[] = [];
    const asked = due.map(async ({ hook, index, as }) => {
      const asking = { type: "validating", round: 0 } as const;
      await this.#call({ hook, index, as }, reviewed, asking, async (verdict) => {
        warnings.push(...verdict.warnings);
      });
    });
    const outcomes = await Promise.allSettled(asked);
    const refused = outcomes.find((outcome) => outcome.status === "rejected");
    await withEarlierWarnings(warnings, async () => {
      if (refused !== undefined) throw refused.reason;
    });
    return warnings;
  }

  /** Matches a webhook; undefined = no match. @throws StatusError */
  async #match(
    candidate: Candidates[number],
    reviewed: VersionedAttributes,
  ): Promise<MatchedHook | undefined> {
    const { hook, index } = candidate.entry;
    const turn = reviewed.pause();
    if (turn !== undefined) await turn;
    const as = matchedAs(candidate, reviewed.name);
    if (as === undefined || !objectsSelect(hook.selectors, reviewed)) return undefined;
    if (!(await namespacesSelect(hook.selectors, reviewed, this.parts.objects))) return undefined;
    return (await this.#meets(hook, reviewed, as)) ? { hook, index, as } : undefined;
  }

  async #meets(hook: Hook, reviewed: VersionedAttributes, as: Resource): Promise<boolean> {
    if (hook.conditions.length === 0) return true;
    const inquiry = authorizationRequest(reviewed, this.parts.authorizer);
    const { api } = this.parts.catalog.domain;
    const bindings = {
      object: (await reviewed.value("object", as)) ?? null,
      oldObject: (await reviewed.value("old", as)) ?? null,
      request: { ...admissionRequest(reviewed, as), ...requestTail(reviewed, api) },
      ...authorizerBindings(inquiry, reviewed),
    };
    const budget = costLimits.matchConditions;
    const evaluation = new Evaluation({ bindings, inquiry, budget });
    const { met, error } = await meetsConditions(hook.conditions, evaluation);
    if (error === undefined) return met;
    if (hook.failsOpen) return false;
    throw forbiddenRequest(reviewed.attributes, error);
  }

  /** Calls a webhook and applies its patch; returns whether the object has changed. */
  async #callAndPatch(
    due: MatchedHook,
    reviewed: VersionedAttributes,
    {
      reinvocation,
      warnings,
    }: { readonly reinvocation: ReinvocationContext; readonly warnings: string[] },
  ): Promise<boolean> {
    const { hook, index, as } = due;
    const { round } = reinvocation;
    const { notes } = reviewed.attributes.request;
    const { api } = this.parts.catalog.domain;
    const key = `webhook.admission.${api}/round_${round}_index_${index}`;
    const named = { configuration: hook.configuration, webhook: hook.name };
    let mutated = false;
    try {
      await this.#call(due, reviewed, { type: "admit", round }, async (verdict) => {
        warnings.push(...verdict.warnings);
        const patch = patchOf(hook, verdict);
        mutated = await this.#patch(hook, reviewed, { as, patch });
        if (patch.length === 0) return;
        notes?.annotateContent(`patch.${key}`, () => patchText({ ...named, patch }));
      });
      return mutated;
    } finally {
      notes?.annotate(`mutation.${key}`, JSON.stringify({ ...named, mutated }));
    }
  }

  /** Calls a webhook. With failurePolicy Ignore a failed call is ignored. */
  async #call(
    { hook, index, as }: MatchedHook,
    reviewed: VersionedAttributes,
    { type, round }: Asking,
    apply: (verdict: WebhookResponse) => Promise<void>,
  ): Promise<void> {
    const { instruments = noInstruments, catalog, clock } = this.parts;
    const { operation, request } = reviewed.attributes;
    const started = performance.now();
    const count = (outcome: Outcome): void => {
      const seconds = (performance.now() - started) / 1000;
      countWebhook(instruments, { name: hook.name, type, operation, seconds, ...outcome });
    };
    try {
      const ask = async () => this.#caller.call(hook, reviewed, as);
      await apply(await heldDuring(clock, `calls of webhook ${hook.name}`, ask));
      count({ code: 200 });
    } catch (error) {
      if (!request.context.signal.aborted) count(outcomeOf(error, hook));
      if (!(error instanceof CallingFault)) throw error;
      if (!hook.failsOpen) throw internalError(error.message);
      const sort = type === "admit" ? "mutation" : type;
      const place = `round_${round}_index_${index}`;
      const key = `failed-open.${sort}.webhook.admission.${catalog.domain.api}/${place}`;
      request.notes?.annotate(key, hook.name);
    }
  }

  /** Applies a patch; returns whether it changes the object. */
  async #patch(
    hook: Hook,
    reviewed: VersionedAttributes,
    { as, patch }: { readonly as: Resource; readonly patch: readonly object[] },
  ): Promise<boolean> {
    if (patch.length === 0) return false;
    const { catalog } = this.parts;
    const before = await reviewed.value("object", as);
    if (before === undefined) {
      throw internalError(
        `admission webhook ${JSON.stringify(hook.name)} attempted to modify the object, ` +
          "which is not supported for this operation",
      );
    }
    try {
      const after = jsonPatch(before, patch);
      if (deepEqual(before, after)) return false;
      const wrongKind = kindFault({ before, after, catalog, as });
      if (wrongKind?.isUnknown === true) throw internalError(wrongKind.message);
      if (wrongKind !== undefined) throw plainFailure(wrongKind.message);
      await reviewed.change(after, as);
      return true;
    } catch (fault) {
      if (fault instanceof PatchFault || fault instanceof DecodeFault) {
        throw internalError(fault.message);
      }
      throw fault;
    }
  }
}

interface Asking extends Pick<AskedWebhook, "type"> {
  readonly round: number;
}

type Outcome = Pick<AskedWebhook, "code" | "refusal" | "failedOpen">;

function outcomeOf(error: unknown, { failsOpen }: Hook): Outcome {
  if (error instanceof CallingFault) {
    const code = failedCallCode;
    return failsOpen ? { code, failedOpen: true } : { code, refusal: "calling_webhook_error" };
  }
  if (error instanceof WebhookRejection) return { code: error.code, refusal: "no_error" };
  return { code: 0, refusal: "apiserver_internal_error" };
}

/** Metric label `code` of a failed call. */
const failedCallCode = 503;

/** Patch as JSON for the audit annotation; keys are sorted as in Go's maps. */
function patchText({ patch, ...named }: PatchRecord): string {
  const sorted = patch.map((operation) =>
    Object.fromEntries(Object.entries(operation).sort(([a], [b]) => compareUtf8(a, b))),
  );
  return escapeHtml(printJson({ ...named, patch: sorted, patchType: "JSONPatch" }));
}

interface PatchRecord {
  readonly configuration: string;
  readonly webhook: string;
  readonly patch: readonly object[];
}

type Candidates = ReturnType<typeof candidatesFor>;

function candidatesFor(set: HookSet, { operation, request }: AdmissionAttributes) {
  const { resource, subresource } = request;
  return set.index.candidates({ operation: operation.toUpperCase(), resource, subresource });
}

/**
 * Operations of a response's patch.
 * @throws CallingFault if the patch cannot be decoded, or its type is not JSONPatch
 */
function patchOf({ name }: Hook, { patch }: WebhookResponse): readonly object[] {
  if (patch === undefined) return [];
  const failed = `failed calling webhook ${JSON.stringify(name)}`;
  try {
    const operations = operationsIn(patch);
    if (operations.length === 0 || patch.type === "JSONPatch") return operations;
  } catch (fault) {
    if (!(fault instanceof JsonFault || fault instanceof DecodeFault)) throw fault;
    const why = `received undecodable patch in webhook response: ${fault.message}`;
    throw new CallingFault(`${failed}: ${why}`);
  }
  throw new CallingFault(`${failed}: unsupported patch type ${JSON.stringify(patch.type)}`);
}

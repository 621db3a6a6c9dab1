import type { Clock } from "#base";
import type { AdmissionHandler, ServerAccess } from "#registry";
import {
  type Authorizer,
  closedDialer,
  type Dialer,
  type Instruments,
  noInstruments,
  type Tracer,
} from "#request";
import type { AdmissionConfiguration } from "./configuration/configuration.ts";
import { checkConfigured } from "./enabled-plugins.ts";
import { handlersByResource, type ResourceHandler } from "./handlers-by-resource.ts";
import { ObjectReader, type ObjectReaderOptions } from "./objects.ts";
import { admissionOrder } from "./order.ts";
import type {
  AccessChecks,
  AdmissionPlugin,
  PluginDependencies,
  PluginHandlers,
} from "./plugin.ts";
import { MutatingPolicies, ValidatingPolicies } from "./policies/index.ts";
import { type MutationHandler, runInOrder, runWithReinvocation } from "./reinvocation.ts";
import { timedPhase, timedPlugin } from "./timing.ts";
import { Webhooks } from "./webhooks/index.ts";

/** The two phases of admission, which are steps of the registry's write pipeline. */
export interface Admission {
  /** May modify the object or reject the request. */
  readonly mutating: AdmissionHandler;
  /** May reject the object as it would be stored. */
  readonly validating: AdmissionHandler;
  /**
   * Starts to watch webhook configurations and policies; resolves when the stored ones are in force.
   */
  readonly follow: (options: Pick<ServerAccess, "signal" | "report">) => Promise<void>;
}

export interface AdmissionOptions extends ObjectReaderOptions {
  readonly clock: Clock;
  readonly authorizer: Authorizer;
  /** Names of the enabled plugins; see `enabledPlugins`. */
  readonly plugins: ReadonlySet<string>;
  /** From `--admission-control-config-file`. */
  readonly configuration?: AdmissionConfiguration;
  readonly accessChecks?: AccessChecks;
  readonly instruments?: Instruments;
  /** Connects to webhooks; absent = to none. */
  readonly dialer?: Dialer;
  /** Records calls to webhooks. */
  readonly tracer?: Tracer;
  /** Aborts when the server shuts down: closes idle connections to webhooks. */
  readonly life?: AbortSignal;
}

interface EnabledPlugin extends PluginHandlers, Pick<AdmissionPlugin, "name" | "resources"> {}

/**
 * Creates the enabled plugins and chains their handlers in the order of order.ts.
 * @throws AdmissionPluginError for a plugin that lacks its required configuration
 */
export function createAdmission(options: AdmissionOptions): Admission {
  const { plugins, configuration = new Map(), instruments = noInstruments } = options;
  checkConfigured(plugins, configuration);
  const objects = new ObjectReader(options);
  const dynamic = { ...options, objects, dialer: options.dialer ?? closedDialer };
  const dependencies: PluginDependencies = {
    ...options,
    objects,
    domain: options.catalog.domain,
    webhooks: new Webhooks(dynamic),
    validatingPolicies: new ValidatingPolicies(dynamic),
    mutatingPolicies: new MutatingPolicies(dynamic),
  };
  const enabled = admissionOrder
    .filter((plugin) => plugin.enabled === "always" || plugins.has(plugin.name))
    .map((plugin): EnabledPlugin => {
      const handlers = plugin.create?.(dependencies, configuration.get(plugin.name));
      return { ...handlers, name: plugin.name, ...only(plugin.resources) };
    });
  const mutating = runWithReinvocation(
    handlersByResource(enabled.flatMap((each) => mutation(each, instruments))),
  );
  const validating = runInOrder(
    handlersByResource(enabled.flatMap((each) => validation(each, instruments))),
  );
  const { webhooks, validatingPolicies, mutatingPolicies } = dependencies;
  return {
    mutating: timedPhase("admit", mutating, instruments),
    validating: timedPhase("validate", validating, instruments),
    follow: async (following) => {
      const from = { ...options, ...following, registry: options.registry() };
      const followers = [webhooks, validatingPolicies, mutatingPolicies];
      await Promise.all(followers.map((each) => each.follow(from)));
    },
  };
}

function only(resources: readonly string[] | undefined): Pick<AdmissionPlugin, "resources"> {
  return resources === undefined ? {} : { resources };
}

function mutation(
  { name, mutate, resources }: EnabledPlugin,
  instruments: Instruments,
): readonly ResourceHandler<MutationHandler>[] {
  if (mutate === undefined) return [];
  return [{ resources, handler: timedPlugin(mutate, { name, type: "admit" }, instruments) }];
}

function validation(
  { name, validate, resources }: EnabledPlugin,
  instruments: Instruments,
): readonly ResourceHandler<AdmissionHandler>[] {
  if (validate === undefined) return [];
  return [{ resources, handler: timedPlugin(validate, { name, type: "validate" }, instruments) }];
}

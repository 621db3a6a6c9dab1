import type { Clock } from "#base";
import type { Domain } from "#meta";
import type { AdmissionHandler } from "#registry";
import type { Authorizer, Tracer } from "#request";
import type { ConfigurationPlace } from "./configuration/fields.ts";
import type { ObjectReader, ObjectReaderOptions } from "./objects.ts";
import type { MutatingPolicies, ValidatingPolicies } from "./policies/index.ts";
import type { MutationHandler } from "./reinvocation.ts";
import type { Webhooks } from "./webhooks/index.ts";

/** Handlers of one plugin; both are optional. */
export interface PluginHandlers {
  /** Mutating phase: may modify `attributes.object` in place, or reject the request. */
  readonly mutate?: MutationHandler;
  /** Validating phase: gets the object as it would be stored. */
  readonly validate?: AdmissionHandler;
}

/** An admission plugin; order.ts determines its position. */
export interface AdmissionPlugin<Configuration = unknown> {
  /** Name in `--enable-admission-plugins`. */
  readonly name: string;
  /**
   * `default`: enabled unless disabled by flag. `optional`: disabled unless enabled by flag. `always`: a
   * check that is not a plugin in kube-apiserver, and unknown to the flags. `unsupported`: known to the
   * flags, but cannot be enabled.
   */
  readonly enabled: "default" | "optional" | "always" | "unsupported";
  /**
   * Plural names of the handled resources; absent = all. Requests for others never call the plugin.
   */
  readonly resources?: readonly string[];
  /** Whether the plugin requires its part of `--admission-control-config-file`. */
  readonly requiresConfiguration?: boolean;
  /**
   * Parses the plugin's part of `--admission-control-config-file`.
   * @throws AdmissionConfigurationFault, or what `place.readFile` throws
   */
  parseConfiguration?(value: unknown, place: ConfigurationPlace): Configuration;
  /** Creates the handlers; absent = the plugin has no effect. */
  create?(
    dependencies: PluginDependencies,
    configuration: Configuration | undefined,
  ): PluginHandlers;
}

export interface PluginDependencies extends ObjectReaderOptions {
  readonly objects: ObjectReader;
  readonly domain: Domain;
  readonly clock: Clock;
  readonly authorizer: Authorizer;
  readonly webhooks: Webhooks;
  readonly validatingPolicies: ValidatingPolicies;
  readonly mutatingPolicies: MutatingPolicies;
  /** Checks of pkg/authz, which pkg/admission may not import; absent = disabled. */
  readonly accessChecks?: AccessChecks | undefined;
  readonly tracer?: Tracer | undefined;
  /** Aborts when the server shuts down: closes idle connections to webhooks. */
  readonly life?: AbortSignal | undefined;
}

export interface AccessChecks {
  /** pkg/authz/create-authorization.ts */
  readonly createByUpdate: AdmissionHandler;
  /** pkg/authz/rbac/escalation-check.ts */
  readonly rbacEscalation: AdmissionHandler;
}

import type { Clock } from "#base";
import type { Domain } from "#meta";
import type { AdmissionHandler } from "#registry";
import type { Authorizer, Tracer } from "#request";
import type { ConfigurationPlace } from "./configuration/fields.ts";
import type { ObjectReader, ObjectReaderOptions } from "./objects.ts";
import type { MutatingPolicies, ValidatingPolicies } from "./policies/index.ts";
import type { MutationHandler } from "./reinvocation.ts";
import type { Webhooks } from "./webhooks/index.ts";

/** The handlers of one plugin. Either may be missing. */
export interface PluginHandlers {
  /** Runs in the mutating phase: may change `attributes.object` in place, or refuse the request. */
  readonly mutate?: MutationHandler;
  /** Runs in the validating phase, on the object as it would be stored. */
  readonly validate?: AdmissionHandler;
}

/** One admission plugin. Its place in the order of execution is its place in order.ts. */
export interface AdmissionPlugin<Configuration = unknown> {
  /** As in `--enable-admission-plugins`. */
  readonly name: string;
  /**
   * `default`: on unless disabled by flag. `optional`: off unless enabled by flag. `always`: not a
   * plugin of kube-apiserver but a check that it makes elsewhere; flags do not know its name.
   * `unsupported`: known to the flags, which refuse to enable it.
   */
  readonly enabled: "default" | "optional" | "always" | "unsupported";
  /**
   * Plural names of the resources that the plugin handles; absent = all. A request for any other
   * resource never calls it.
   */
  readonly resources?: readonly string[];
  /** The plugin cannot start without its part of `--admission-control-config-file`. */
  readonly requiresConfiguration?: boolean;
  /**
   * Reads the plugin's part of `--admission-control-config-file`.
   * @throws AdmissionConfigurationFault, or what `place.readFile` throws
   */
  parseConfiguration?(value: unknown, place: ConfigurationPlace): Configuration;
  /** Absent = accepted by the flags, without effect. */
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
  /** Checks of pkg/authz, which pkg/admission may not import; absent = not made. */
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

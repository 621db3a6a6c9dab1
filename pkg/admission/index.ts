/** admission: what the server itself does to writes, and which of them it refuses. */
import type { Clock } from "#base";
import type { AdmissionHandler, ServerAccess } from "#registry";
import { type Authorizer, type Instruments, noInstruments, type Tracer } from "#request";
import {
  certificateApproval,
  certificateSigning,
  certificateSubjects,
  trustBundles,
} from "./plugins/certificates/certificate-approval.ts";
import type { AdmissionConfiguration } from "./configuration/configuration.ts";
import { deviceAccess } from "./plugins/dra-admin-access.ts";
import { eventRates } from "./plugins/access/event-rate-limit.ts";
import { imagePolicy } from "./plugins/pod/image-policy-webhook.ts";
import { defaultIngressClass } from "./plugins/network/default-ingress-class.ts";
import { limitChecks, limitDefaults } from "./plugins/quota/limit-ranger.ts";
import { provideNamespace } from "./plugins/namespace/namespace-auto-provision.ts";
import { nodeRestriction } from "./plugins/node/node-restriction.ts";
import { notReadyTaint } from "./plugins/node/taint-nodes-by-condition.ts";
import { type ObjectReaderOptions, ObjectReader } from "./objects.ts";
import {
  alwaysPull,
  alwaysPullCheck,
  denyExternalAddresses,
  deviceTolerations,
  hostAntiAffinity,
} from "./plugins/pod/always-pull-images.ts";
import { ownerPermissions } from "./plugins/access/owner-references-permission-enforcement.ts";
import { MutatingPolicies, ValidatingPolicies } from "./policies/index.ts";
import { selectedNodes, selectNodes } from "./plugins/pod/pod-node-selector.ts";
import { laxDefaults, podSecurity } from "./pod-security/index.ts";
import {
  allowedTolerations,
  giveTolerations,
  type PodTolerations,
} from "./plugins/pod/pod-toleration-restriction.ts";
import { onePriorityDefault, priorityOfPods } from "./plugins/pod/priority.ts";
import { resourceQuota } from "./plugins/quota/resource-quota.ts";
import { runtimeClassOfPods, runtimeOverhead } from "./plugins/pod/runtime-class.ts";
import { serviceAccountOfPods, serviceAccountUse } from "./plugins/pod/service-account.ts";
import {
  claimResize,
  defaultStorageClass,
  storageProtection,
} from "./plugins/storage/default-storage-class.ts";
import { defaultTolerations } from "./plugins/pod/default-toleration-seconds.ts";
import { type ResourceHandler, handlersByResource } from "./handlers-by-resource.ts";
import { type MutationHandler, runInOrder, runWithReinvocation } from "./reinvocation.ts";
import { timedPlugin } from "./timing.ts";
import { checkConfigured } from "./enabled-plugins.ts";
import { Webhooks } from "./webhooks/index.ts";

export { parseAdmissionConfiguration } from "./configuration/configuration.ts";
export {
  AdmissionPluginError,
  enabledPlugins,
  type AdmissionPluginFlags,
} from "./enabled-plugins.ts";

export { admissionMetrics } from "./metrics.ts";
export { timedPhase } from "./timing.ts";

export interface DefaultAdmission {
  /** Comes before the namespace of an object is looked for. */
  readonly provide: AdmissionHandler | undefined;
  /** Everything that changes objects: built-in plugins, then policies, then webhooks. */
  readonly mutating: AdmissionHandler;
  /** In the same order. */
  readonly validating: readonly AdmissionHandler[];
  /** Comes last of all: what is refused for another reason uses up no quota. */
  readonly quota: AdmissionHandler;
  /** Follows what is configured; resolves once what is stored now is in force. */
  readonly follow: (options: Pick<ServerAccess, "signal" | "report">) => Promise<void>;
}

/** One plugin; either step may be missing. */
interface Plugin {
  readonly name: string;
  readonly mutate?: MutationHandler;
  readonly validate?: AdmissionHandler;
}

export interface AdmissionOptions extends ObjectReaderOptions {
  readonly clock: Clock;
  readonly authorizer: Authorizer;
  /** Names of the plugins that are on; see `enabledPlugins`. */
  readonly plugins: ReadonlySet<string>;
  /** What plugins are told beside being on. */
  readonly configuration?: AdmissionConfiguration;
  readonly instruments?: Instruments;
  /** Records calls to webhooks. */
  readonly tracer?: Tracer;
  /** Ends connections that are kept open. */
  readonly life?: AbortSignal;
}

/** The built-in plugins that are on, in Kubernetes' order. */
export function defaultAdmission(options: AdmissionOptions): DefaultAdmission {
  const { clock, plugins, instruments = noInstruments } = options;
  const mutation = ({ name, mutate }: Plugin): readonly ResourceHandler<MutationHandler>[] => {
    if (mutate === undefined) return [];
    const step = timedPlugin(mutate, { name, type: "admit" }, instruments);
    return [{ about: subjects[name], step }];
  };
  const validation = ({ name, validate }: Plugin): readonly ResourceHandler<AdmissionHandler>[] => {
    if (validate === undefined) return [];
    const step = timedPlugin(validate, { name, type: "validate" }, instruments);
    return [{ about: subjects[name], step }];
  };
  const objects = new ObjectReader(options);
  const dynamic = { ...options, objects };
  const webhooks = new Webhooks(dynamic);
  const policies = new ValidatingPolicies(dynamic);
  const changing = new MutatingPolicies(dynamic);
  const all = [
    ...builtIn(options, objects),
    ...configured({ webhooks, policies, changing }, options),
  ];
  const on = all.filter(({ name }) => plugins.has(name));
  const quota = resourceQuota({ ...options, objects, clock });
  const provides = plugins.has("NamespaceAutoProvision");
  return {
    provide: provides ? provideNamespace(objects, options) : undefined,
    mutating: runWithReinvocation(handlersByResource(on.flatMap(mutation))),
    // Kubernetes validates claims so, whatever plugins are on.
    validating: [
      deviceAccess(objects, options.catalog.domain),
      runInOrder(handlersByResource(on.flatMap(validation))),
    ],
    quota: plugins.has("ResourceQuota") ? quota : async () => [],
    follow: async (following) => {
      const from = { ...options, ...following, registry: options.registry() };
      await Promise.all([webhooks, policies, changing].map((each) => each.follow(from)));
    },
  };
}

interface Configured {
  readonly webhooks: Webhooks;
  readonly policies: ValidatingPolicies;
  readonly changing: MutatingPolicies;
}

/** What clusters configure as objects, in Kubernetes' order. */
function configured(
  { webhooks, policies, changing }: Configured,
  { gates }: AdmissionOptions,
): readonly Plugin[] {
  const mutatingPolicies: Plugin = {
    name: "MutatingAdmissionPolicy",
    mutate: (attributes, rounds) => changing.mutate(attributes, rounds),
  };
  return [
    ...(gates("MutatingAdmissionPolicy") ? [mutatingPolicies] : []),
    {
      name: "MutatingAdmissionWebhook",
      mutate: (attributes, rounds) => webhooks.mutate(attributes, rounds),
    },
    {
      name: "ValidatingAdmissionPolicy",
      validate: (attributes) => policies.validate(attributes),
    },
    {
      name: "ValidatingAdmissionWebhook",
      validate: (attributes) => webhooks.validate(attributes),
    },
  ];
}

/** What plugins look at that look at few things, by plural names; all others look at everything. */
const subjects: Readonly<Record<string, readonly string[]>> = {
  LimitPodHardAntiAffinityTopology: ["pods"],
  LimitRanger: ["pods", "persistentvolumeclaims"],
  ServiceAccount: ["pods"],
  TaintNodesByCondition: ["nodes"],
  AlwaysPullImages: ["pods"],
  ImagePolicyWebhook: ["pods"],
  PodNodeSelector: ["pods"],
  Priority: ["pods", "priorityclasses"],
  DefaultTolerationSeconds: ["pods"],
  PodTolerationRestriction: ["pods"],
  EventRateLimit: ["events"],
  ExtendedResourceToleration: ["pods"],
  DefaultStorageClass: ["persistentvolumeclaims"],
  StorageObjectInUseProtection: ["persistentvolumeclaims", "persistentvolumes"],
  PersistentVolumeClaimResize: ["persistentvolumeclaims"],
  RuntimeClass: ["pods"],
  CertificateApproval: ["certificatesigningrequests"],
  CertificateSigning: ["certificatesigningrequests"],
  CertificateSubjectRestriction: ["certificatesigningrequests"],
  ClusterTrustBundleAttest: ["clustertrustbundles"],
  DefaultIngressClass: ["ingresses"],
  DenyServiceExternalIPs: ["services"],
};

const freePods: PodTolerations = { usual: [], allowed: [] };

/** Plugins that are off unless they are switched on, and told what to do. */
function configurable(options: AdmissionOptions, objects: ObjectReader) {
  const { plugins, configuration = {}, catalog } = options;
  const { domain } = catalog;
  checkConfigured(plugins, configuration);
  const { PodNodeSelector: selectors = new Map() } = configuration;
  const { PodTolerationRestriction: configured = freePods } = configuration;
  const { EventRateLimit: limits, ImagePolicyWebhook: policy } = configuration;
  const nodes = { objects, selectors };
  const tolerating = { objects, domain, configured };
  return {
    images: {
      name: "ImagePolicyWebhook",
      ...(policy && { validate: imagePolicy({ ...options, policy, domain }) }),
    },
    nodes: { name: "PodNodeSelector", mutate: selectNodes(nodes), validate: selectedNodes(nodes) },
    tolerations: {
      name: "PodTolerationRestriction",
      mutate: giveTolerations(tolerating),
      validate: allowedTolerations(tolerating),
    },
    events: {
      name: "EventRateLimit",
      ...(limits && { validate: eventRates(limits, options.clock) }),
    },
  } satisfies Readonly<Record<string, Plugin>>;
}

function builtIn(options: AdmissionOptions, objects: ObjectReader): readonly Plugin[] {
  const { authorizer, gates, catalog, clock } = options;
  const { PodSecurity: defaults = laxDefaults } = options.configuration ?? {};
  const { domain } = catalog;
  const extra = configurable(options, objects);
  const sleep = (ms: number, signal: AbortSignal) => clock.sleep(ms, signal);
  const signers = { authorizer, domain };
  const accounts = { objects, domain, sleep };
  const owners = ownerPermissions({ authorizer, catalog });
  return [
    { name: "LimitPodHardAntiAffinityTopology", validate: hostAntiAffinity(domain) },
    { name: "LimitRanger", mutate: limitDefaults(objects, domain), validate: limitChecks(objects) },
    {
      name: "ServiceAccount",
      mutate: serviceAccountOfPods(accounts),
      validate: serviceAccountUse(accounts),
    },
    { name: "NodeRestriction", mutate: nodeRestriction({ objects, domain, authorizer, gates }) },
    { name: "TaintNodesByCondition", mutate: notReadyTaint(domain) },
    { name: "AlwaysPullImages", mutate: alwaysPull, validate: alwaysPullCheck },
    extra.images,
    { name: "PodSecurity", validate: podSecurity({ objects, domain, defaults }) },
    extra.nodes,
    { name: "Priority", mutate: priorityOfPods(objects), validate: onePriorityDefault(objects) },
    { name: "DefaultTolerationSeconds", mutate: defaultTolerations(domain) },
    extra.tolerations,
    extra.events,
    { name: "ExtendedResourceToleration", mutate: deviceTolerations(domain) },
    { name: "DefaultStorageClass", mutate: defaultStorageClass(objects, domain) },
    { name: "StorageObjectInUseProtection", mutate: storageProtection(domain) },
    { name: "OwnerReferencesPermissionEnforcement", validate: owners },
    { name: "PersistentVolumeClaimResize", validate: claimResize(objects, domain) },
    {
      name: "RuntimeClass",
      mutate: runtimeClassOfPods(objects),
      validate: runtimeOverhead(objects),
    },
    { name: "CertificateApproval", validate: certificateApproval(signers) },
    { name: "CertificateSigning", validate: certificateSigning(signers) },
    { name: "ClusterTrustBundleAttest", validate: trustBundles(signers) },
    { name: "CertificateSubjectRestriction", validate: certificateSubjects(domain) },
    { name: "DefaultIngressClass", mutate: defaultIngressClass(objects, domain) },
    { name: "DenyServiceExternalIPs", validate: denyExternalAddresses },
  ];
}

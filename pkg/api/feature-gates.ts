/**
 * Feature gates of Kubernetes 1.34 by stage, plus gates that graduated up to 1.26 and are no longer
 * listed by later releases.
 */

type Stage = "alpha" | "beta" | "stable" | "deprecated";

interface Gate {
  readonly stage: Stage;
  readonly on: boolean;
}

/** Invalid value of `--feature-gates`. */
export class FeatureGateError extends Error {
  override readonly name = "FeatureGateError";
}

const alphaOff = `
  AllowUnsafeMalformedObjectDeletion APISelfSubjectAttributesReview APIServingWithRoutine
  CBORServingAndStorage CPUCFSQuotaPeriod CPUManagerPolicyAlphaOptions CSIMigrationRBD
  CSINodeExpandSecret CSIVolumeHealth CloudControllerManagerWebhook ComponentFlagz ComponentStatusz
  ContainerRestartRules ContainerStopSignals CrossNamespaceVolumeDataSource CustomCPUCFSQuotaPeriod
  DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaints DRAExtendedResource
  DRAPartitionableDevices DeploymentReplicaSetTerminatingReplicas DisableCloudProviders
  DisableKubeletCloudCredentialProviders EnvFiles EventedPLEG ExpandedDNSConfig
  HPAConfigurableTolerance HPAContainerMetrics HPAScaleToZero HostnameOverride
  InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory InformerResourceVersion
  ClientsAllowCBOR ClientsPreferCBOR InTreePluginAWSUnregister InTreePluginAzureDiskUnregister
  InTreePluginAzureFileUnregister InTreePluginGCEUnregister InTreePluginOpenStackUnregister
  InTreePluginPortworxUnregister InTreePluginRBDUnregister InTreePluginvSphereUnregister
  IPTablesOwnershipCleanup KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages
  KubeletInUserNamespace LegacyServiceAccountTokenTracking LoggingAlphaOptions
  MaxUnavailableStatefulSet MemoryQoS MultiCIDRRangeAllocator NetworkPolicyStatus
  PDBUnhealthyPodEvictionPolicy PodAndContainerStatsFromCRI PodCertificateRequest
  PodHasNetworkCondition PodLogsQuerySplitStreams PodTopologyLabelsAdmission QOSReserved
  ReadWriteOncePod ReduceDefaultCrashLoopBackOffDecay RelaxedServiceNameValidation
  ResourceHealthStatus RuntimeClassInImageCriApi StatefulSetStartOrdinal StorageCapacityScoring
  StorageVersionAPI StorageVersionMigrator StrictIPCIDRValidation TopologyManagerPolicyAlphaOptions
  UnknownVersionInteroperabilityProxy UserNamespacesPodSecurityStandards
  UserNamespacesStatelessPodsSupport VolumeCapacityPriority WindowsCPUAndMemoryAffinity
  WindowsGracefulNodeShutdown`;

const betaOff = `
  ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode
  CoordinatedLeaderElection DeclarativeValidationTakeover ExperimentalHostUserNamespaceDefaulting
  ImageVolume LocalStorageCapacityIsolationFSQuotaMonitoring MinDomainsInPodTopologySpread
  MutableCSINodeAllocatableCount MutatingAdmissionPolicy NodeLogQuery SELinuxMount WatchListClient
  WatchCacheInitializationPostStartHook`;

const betaOn = `
  InOrderInformers StatefulSetSemanticRevisionComparison
  APIPriorityAndFairness APIResponseCompression APIServerIdentity APIServerTracing
  AllowInsecureBackendProxy AllowParsingUserUIDFromCertAuth CPUManagerPolicyBetaOptions
  ClearingNominatedNodeNameAfterBinding ContainerCheckpoint ContextualLogging DRAAdminAccess
  DRAPrioritizedList DRAResourceClaimDeviceStatus DRASchedulerFilterTimeout DeclarativeValidation
  DetectCacheInconsistency DisableCPUQuotaWithExclusiveCPUs ExternalServiceAccountTokenSigner
  GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority ImageMaximumGCAge
  InPlacePodVerticalScaling JobManagedBy KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz
  KubeletPSI KubeletPodResources KubeletPodResourcesDynamicResources KubeletPodResourcesGet
  KubeletPodResourcesGetAllocatable KubeletSeparateDiskGC
  KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot LoggingBetaOptions
  MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
  NodeOutOfServiceVolumeDetach NominatedNodeNameForExpectation OpenAPIEnums OpenAPIV3
  PodDeletionCost PodLevelResources PodLifecycleSleepActionAllowZero PodObservedGenerationTracking
  PodReadyToStartContainersCondition PortForwardWebsockets PreferSameTrafficDistribution
  PreventStaticPodAPIReferences ProbeTerminationGracePeriod ProcMountType RemainingItemCount
  ReloadKubeletServerCertificateFile RemoteRequestHeaderUID RotateKubeletServerCertificate
  SELinuxChangePolicy SELinuxMountReadWriteOncePod SchedulerAsyncAPICalls SchedulerAsyncPreemption
  SchedulerPopFromBackoffQ SeccompDefault ServerSideFieldValidation
  ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate StorageVersionHash
  StructuredAuthenticationConfigurationEgressSelector SupplementalGroupsPolicy SystemdWatchdog
  TokenRequestServiceAccountUIDValidation TopologyManager TopologyManagerPolicyBetaOptions
  TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation UserNamespacesSupport
  WatchList WinDSR WinOverlay`;

const stable = `
  APIListChunking AdvancedAuditing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource AppArmor
  AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache CPUManager
  CPUManagerPolicyOptions CRDValidationRatcheting CSIInlineVolume CSIMigration CSIMigrationAWS
  CSIMigrationAzureDisk CSIMigrationAzureFile CSIMigrationGCE CSIMigrationOpenStack
  CSIMigrationPortworx CSIMigrationvSphere CSIStorageCapacity ComponentSLIs ConsistentListFromCache
  ControllerManagerLeaderMigration CronJobTimeZone CronJobsScheduledAnnotation
  CustomResourceFieldSelectors CustomResourceValidationExpressions DaemonSetUpdateSurge
  DefaultPodTopologySpread DelegateFSGroupToCSIDriver DevicePluginCDIDevices DevicePlugins
  DisableAcceleratorUsageMetrics DisableAllocatorDualWrite DownwardAPIHugePages DryRun
  DynamicResourceAllocation EfficientWatchResumption EndpointSliceTerminatingCondition
  EphemeralContainers ExecProbeTimeout ExpandCSIVolumes ExpandInUsePersistentVolumes
  ExpandPersistentVolumes GRPCContainerProbe HonorPVReclaimPolicy IdentifyPodOS IndexedJob
  JobBackoffLimitPerIndex JobMutableNodeSchedulingDirectives JobPodFailurePolicy
  JobPodReplacementPolicy JobReadyPods JobSuccessPolicy JobTrackingWithFinalizers KMSv2
  KubeletCredentialProviders KubeletTracing LegacyServiceAccountTokenNoAutoGeneration
  LoadBalancerIPMode LocalStorageCapacityIsolation LogarithmicScaleDown MatchLabelKeysInPodAffinity
  MemoryManager MixedProtocolLBService MultiCIDRServiceAllocator NFTablesProxyMode
  NetworkPolicyEndPort NodeInclusionPolicyInPodTopologySpread NodeSwap NonPreemptingPriority
  OrderedNamespaceDeletion PodAffinityNamespaceSelector PodDisruptionConditions PodIndexLabel
  PodLifecycleSleepAction PodSchedulingReadiness PodSecurity PreferNominatedNode
  ProxyTerminatingEndpoints RecoverVolumeExpansionFailure RecursiveReadOnlyMounts
  RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation RemoveSelfLink
  ResilientWatchCacheInitialization RetroactiveDefaultStorageClass RetryGenerateName
  SchedulerQueueingHints SeparateTaintEvictionController ServerSideApply
  ServiceAccountTokenJTI ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation
  ServiceAccountTokenPodNodeInfo ServiceIPStaticSubrange ServiceInternalTrafficPolicy
  ServiceLBNodePortControl ServiceLoadBalancerClass ServiceTrafficDistribution SidecarContainers
  SizeMemoryBackedVolumes StatefulSetAutoDeletePVC StatefulSetMinReadySeconds
  StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf
  StrictCostEnforcementForVAP StrictCostEnforcementForWebhooks
  StructuredAuthenticationConfiguration StructuredAuthorizationConfiguration SuspendJob
  TopologyAwareHints TopologyManagerPolicyOptions ValidatingAdmissionPolicy VolumeAttributesClass
  WatchBookmark WindowsHostProcessContainers`;

const deprecatedOff = `
  AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
  AllowOverwriteTerminationGracePeriodSeconds AllowServiceLBStatusOnNonLB DynamicKubeletConfig
  GitRepoVolumeDriver InPlacePodVerticalScalingAllocatedStatus KMSv1
  KubeletRegistrationGetOnExistsOnly LegacySidecarContainers SeparateCacheWatchRPC
  WatchFromStorageWithoutResourceVersion WindowsHostNetwork`;

const deprecatedOn = `
  AggregatedDiscoveryRemoveBetaType DisableNodeKubeProxyVersion KubeletPodResourcesListUseActivePods
  StorageNamespaceIndex`;

/** Gates that the code consults; a test verifies the list against the source. */
const consulted = `
  APIServerIdentity AggregatedDiscoveryRemoveBetaType
  AllowInsecureKubeletCertificateSigningRequests AllowServiceLBStatusOnNonLB CSIStorageCapacity
  ClusterTrustBundle ClusterTrustBundleProjection ComponentFlagz ComponentStatusz
  ContainerRestartRules ContainerStopSignals CoordinatedLeaderElection
  CrossNamespaceVolumeDataSource DRAAdminAccess DRAConsumableCapacity DRADeviceBindingConditions
  DRADeviceTaints DRAExtendedResource DRAPartitionableDevices DRAPrioritizedList
  DRAResourceClaimDeviceStatus DeploymentReplicaSetTerminatingReplicas EnvFiles
  HPAConfigurableTolerance HPAScaleToZero HostnameOverride ImageVolume
  InPlacePodVerticalScaling JobManagedBy MaxUnavailableStatefulSet
  MutableCSINodeAllocatableCount MutatingAdmissionPolicy PodCertificateRequest
  PodLogsQuerySplitStreams PodTopologyLabelsAdmission PreferSameTrafficDistribution
  ReadWriteOncePod RecoverVolumeExpansionFailure RecursiveReadOnlyMounts ResourceHealthStatus
  SELinuxMount SELinuxMountReadWriteOncePod ServiceAccountNodeAudienceRestriction
  ServiceTrafficDistribution SizeBasedListCostEstimate StorageVersionAPI StorageVersionMigrator
  SupplementalGroupsPolicy
  UserNamespacesPodSecurityStandards UserNamespacesSupport ValidatingAdmissionPolicy
  VolumeAttributesClass`;

const lists: readonly (readonly [string, Gate])[] = [
  [alphaOff, { stage: "alpha", on: false }],
  [betaOff, { stage: "beta", on: false }],
  [betaOn, { stage: "beta", on: true }],
  [stable, { stage: "stable", on: true }],
  [deprecatedOff, { stage: "deprecated", on: false }],
  [deprecatedOn, { stage: "deprecated", on: true }],
];

const known: ReadonlyMap<string, Gate> = new Map(
  lists.flatMap(([names, gate]) =>
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, gate] as const),
  ),
);

/**
 * Resolves `--feature-gates`: `AllAlpha` and `AllBeta` set a whole stage, explicit gates take
 * precedence. Gates missing in the table are off.
 * @throws FeatureGateError for unknown names, values other than true and false, and stable gates
 * that are switched off
 */
export function featureGates(settings: ReadonlyMap<string, string>): (name: string) => boolean {
  for (const [name, value] of settings) checkSetting(name, value);
  const stageDefaults: Readonly<Partial<Record<Stage, string | undefined>>> = {
    alpha: settings.get("AllAlpha"),
    beta: settings.get("AllBeta"),
  };
  return (name) => {
    const gate = known.get(name);
    const set = settings.get(name) ?? (gate && stageDefaults[gate.stage]);
    return set === undefined ? (gate?.on ?? false) : set === "true";
  };
}

/** Gates set to another value than their default, but not consulted, in the order of `settings`. */
export function gatesWithoutEffect(settings: ReadonlyMap<string, string>): readonly string[] {
  if (settings.size === 0) return [];
  const names = new Set(consultedGates());
  return [...settings].flatMap(([name, value]) => {
    const gate = known.get(name);
    return gate === undefined || names.has(name) || gate.on === (value === "true") ? [] : [name];
  });
}

export function consultedGates(): readonly string[] {
  return consulted.trim().split(/\s+/);
}

/** All gates with their stages. */
export function featureStages(): ReadonlyMap<string, Stage> {
  return new Map([...known].map(([name, { stage }]) => [name, stage]));
}

function checkSetting(name: string, value: string): void {
  if (value !== "true" && value !== "false") {
    throw new FeatureGateError(`--feature-gates: ${name}=${value} must be true or false`);
  }
  if (name === "AllAlpha" || name === "AllBeta") return;
  const gate = known.get(name);
  if (gate === undefined)
    throw new FeatureGateError(`--feature-gates: unknown feature gate ${name}`);
  if (gate.stage === "stable" && value === "false") {
    throw new FeatureGateError(
      `--feature-gates: cannot set feature gate ${name} to false, the feature is locked to true`,
    );
  }
}

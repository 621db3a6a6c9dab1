/**
 * The feature gates of Kubernetes 1.34: the one place with their stages, defaults and effects. A gate acts
 * (the code consults it), is locked to its default, or has no effect here for one of `reasons`.
 */

/** Why a gate has no effect. */
export const reasons = {
  absent: "Keelson lacks the feature: it behaves as with the gate off",
  allocator: "cluster IPs are allocated by IPAddress objects alone, as with the gate on",
  always: "Keelson behaves as with the default",
  client: "it changes how Go clients and components read, which no response shows",
  cloud: "it changes cloud providers and in-tree volume drivers, which Keelson does not have",
  internal: "it chooses between implementations inside Kubernetes that give the same results",
  kubelet: "it changes kubelets, and simulated nodes run no containers",
  logging: "it changes the log formats of Go components",
  windows: "it changes kubelets on Windows",
} as const;

export type Effect = "acts" | "locked" | keyof typeof reasons;

/** Name, stage and default in 1.34, `locked` if the gate cannot be changed, and the effect. */
export const gateRows = `
  APIResponseCompression beta on: acts
  APIServerIdentity beta on: acts
  APIServerTracing stable on locked: locked
  APIServingWithRoutine alpha off: internal
  AggregatedDiscoveryRemoveBetaType deprecated on: acts
  AllowDNSOnlyNodeCSR deprecated off: kubelet
  AllowInsecureKubeletCertificateSigningRequests deprecated off: acts
  AllowOverwriteTerminationGracePeriodSeconds deprecated off: kubelet
  AllowParsingUserUIDFromCertAuth beta on: acts
  AllowServiceLBStatusOnNonLB deprecated off locked: acts
  AllowUnsafeMalformedObjectDeletion alpha off: acts
  AnonymousAuthConfigurableEndpoints stable on locked: locked
  AnyVolumeDataSource stable on locked: locked
  AuthorizeNodeWithSelectors stable on locked: locked
  AuthorizeWithSelectors stable on locked: locked
  BtreeWatchCache stable on locked: locked
  CBORServingAndStorage alpha off: absent
  CPUManagerPolicyAlphaOptions alpha off: kubelet
  CPUManagerPolicyBetaOptions beta on: kubelet
  CPUManagerPolicyOptions stable on locked: locked
  CRDValidationRatcheting stable on locked: locked
  CSIMigrationPortworx stable on locked: locked
  CSIVolumeHealth alpha off: kubelet
  ClearingNominatedNodeNameAfterBinding alpha off: acts
  ClientsAllowCBOR alpha off: client
  ClientsPreferCBOR alpha off: client
  CloudControllerManagerWebhook alpha off: cloud
  ClusterTrustBundle beta off: acts
  ClusterTrustBundleProjection beta off: acts
  ComponentFlagz alpha off: acts
  ComponentSLIs stable on locked: locked
  ComponentStatusz alpha off: acts
  ConcurrentWatchObjectDecode beta off: internal
  ConsistentListFromCache stable on locked: locked
  ContainerCheckpoint beta on: kubelet
  ContainerRestartRules alpha off: acts
  ContainerStopSignals alpha off: acts
  ContextualLogging beta on: logging
  CoordinatedLeaderElection beta off: acts
  CronJobsScheduledAnnotation stable on locked: locked
  CrossNamespaceVolumeDataSource alpha off: acts
  CustomCPUCFSQuotaPeriod alpha off: kubelet
  CustomResourceFieldSelectors stable on locked: locked
  DRAAdminAccess beta on: acts
  DRAConsumableCapacity alpha off: acts
  DRADeviceBindingConditions alpha off: acts
  DRADeviceTaints alpha off: acts
  DRAExtendedResource alpha off: acts
  DRAPartitionableDevices alpha off: acts
  DRAPrioritizedList beta on: acts
  DRAResourceClaimDeviceStatus beta on: acts
  DRASchedulerFilterTimeout beta on: acts
  DeclarativeValidation beta on: internal
  DeclarativeValidationTakeover beta off: internal
  DeploymentReplicaSetTerminatingReplicas alpha off: acts
  DetectCacheInconsistency beta on: internal
  DisableAllocatorDualWrite stable on: allocator
  DisableCPUQuotaWithExclusiveCPUs beta on: kubelet
  DisableNodeKubeProxyVersion deprecated on: kubelet
  DynamicResourceAllocation stable on: acts
  EnvFiles alpha off: acts
  EventedPLEG alpha off: kubelet
  ExecProbeTimeout stable on: kubelet
  ExternalServiceAccountTokenSigner beta on: absent
  GitRepoVolumeDriver deprecated off: acts
  GracefulNodeShutdown beta on: kubelet
  GracefulNodeShutdownBasedOnPodPriority beta on: kubelet
  HPAConfigurableTolerance alpha off: acts
  HPAScaleToZero alpha off: acts
  HonorPVReclaimPolicy stable on locked: locked
  HostnameOverride alpha off: acts
  ImageMaximumGCAge beta on: kubelet
  ImageVolume beta off: acts
  InOrderInformers beta on: client
  InPlacePodVerticalScaling beta on: acts
  InPlacePodVerticalScalingAllocatedStatus deprecated off: kubelet
  InPlacePodVerticalScalingExclusiveCPUs alpha off: kubelet
  InPlacePodVerticalScalingExclusiveMemory alpha off: kubelet
  InTreePluginPortworxUnregister alpha off: cloud
  InformerResourceVersion alpha off: client
  JobBackoffLimitPerIndex stable on locked: locked
  JobManagedBy beta on: acts
  JobPodReplacementPolicy stable on locked: locked
  JobSuccessPolicy stable on locked: locked
  KMSv1 deprecated off: absent
  KubeletCgroupDriverFromCRI stable on locked: locked
  KubeletCrashLoopBackOffMax alpha off: kubelet
  KubeletEnsureSecretPulledImages alpha off: kubelet
  KubeletFineGrainedAuthz beta on: acts
  KubeletInUserNamespace alpha off: kubelet
  KubeletPSI beta on: kubelet
  KubeletPodResourcesDynamicResources beta on: kubelet
  KubeletPodResourcesGet beta on: kubelet
  KubeletPodResourcesListUseActivePods deprecated on: kubelet
  KubeletRegistrationGetOnExistsOnly deprecated off: kubelet
  KubeletSeparateDiskGC beta on: kubelet
  KubeletServiceAccountTokenForCredentialProviders beta on: acts
  KubeletTracing stable on locked: locked
  ListFromCacheSnapshot beta on: internal
  LoadBalancerIPMode stable on locked: locked
  LocalStorageCapacityIsolationFSQuotaMonitoring beta off: kubelet
  LogarithmicScaleDown stable on locked: locked
  LoggingAlphaOptions alpha off: logging
  LoggingBetaOptions beta on: logging
  MatchLabelKeysInPodAffinity stable on locked: locked
  MatchLabelKeysInPodTopologySpread beta on: acts
  MatchLabelKeysInPodTopologySpreadSelectorMerge beta on: acts
  MaxUnavailableStatefulSet alpha off: acts
  MemoryManager stable on locked: locked
  MemoryQoS alpha off: kubelet
  MultiCIDRServiceAllocator stable on locked: locked
  MutableCSINodeAllocatableCount beta off: acts
  MutatingAdmissionPolicy beta off: acts
  NFTablesProxyMode stable on locked: locked
  NodeInclusionPolicyInPodTopologySpread stable on locked: locked
  NodeLogQuery beta on: kubelet
  NodeSwap stable on locked: locked
  NominatedNodeNameForExpectation alpha off: absent
  OpenAPIEnums beta on: acts
  OrderedNamespaceDeletion stable on locked: locked
  PodAndContainerStatsFromCRI alpha off: kubelet
  PodCertificateRequest alpha off: acts
  PodDeletionCost beta on: acts
  PodIndexLabel stable on locked: locked
  PodLevelResources beta on: acts
  PodLifecycleSleepAction stable on locked: locked
  PodLifecycleSleepActionAllowZero stable on locked: locked
  PodLogsQuerySplitStreams alpha off: acts
  PodObservedGenerationTracking beta on: acts
  PodReadyToStartContainersCondition beta on: kubelet
  PodSchedulingReadiness stable on locked: locked
  PodTopologyLabelsAdmission alpha off: acts
  PortForwardWebsockets beta on: always
  PreferSameTrafficDistribution beta on: acts
  PreventStaticPodAPIReferences beta on: kubelet
  ProbeHostPodSecurityStandards stable on locked: locked
  ProcMountType beta on: acts
  QOSReserved alpha off: kubelet
  RecoverVolumeExpansionFailure stable on locked: acts
  RecursiveReadOnlyMounts stable on locked: acts
  ReduceDefaultCrashLoopBackOffDecay alpha off: kubelet
  RelaxedDNSSearchValidation stable on locked: locked
  RelaxedEnvironmentVariableValidation stable on locked: locked
  RelaxedServiceNameValidation alpha off: acts
  ReloadKubeletServerCertificateFile beta on: kubelet
  RemoteRequestHeaderUID beta on: acts
  ResilientWatchCacheInitialization stable on locked: locked
  ResourceHealthStatus alpha off: acts
  RetryGenerateName stable on locked: locked
  RotateKubeletServerCertificate beta on: kubelet
  RuntimeClassInImageCriApi alpha off: kubelet
  SELinuxChangePolicy beta on: acts
  SELinuxMount beta off: acts
  SELinuxMountReadWriteOncePod beta on: acts
  SchedulerAsyncAPICalls beta off: internal
  SchedulerAsyncPreemption beta on: internal
  SchedulerPopFromBackoffQ beta on: internal
  SchedulerQueueingHints stable on locked: locked
  SeparateCacheWatchRPC deprecated off: internal
  SeparateTaintEvictionController stable on locked: locked
  ServiceAccountNodeAudienceRestriction beta on: acts
  ServiceAccountTokenJTI stable on locked: locked
  ServiceAccountTokenNodeBinding stable on locked: locked
  ServiceAccountTokenNodeBindingValidation stable on locked: locked
  ServiceAccountTokenPodNodeInfo stable on locked: locked
  ServiceTrafficDistribution stable on locked: acts
  SidecarContainers stable on locked: locked
  SizeBasedListCostEstimate beta on: acts
  SizeMemoryBackedVolumes stable on locked: locked
  StatefulSetAutoDeletePVC stable on locked: locked
  StatefulSetSemanticRevisionComparison beta on: internal
  StorageCapacityScoring alpha off: absent
  StorageNamespaceIndex deprecated on: internal
  StorageVersionAPI alpha off: acts
  StorageVersionHash beta on: acts
  StorageVersionMigrator alpha off: acts
  StreamingCollectionEncodingToJSON stable on locked: locked
  StreamingCollectionEncodingToProtobuf stable on locked: locked
  StrictCostEnforcementForVAP stable on locked: locked
  StrictCostEnforcementForWebhooks stable on locked: locked
  StrictIPCIDRValidation alpha off: always
  StructuredAuthenticationConfiguration stable on locked: locked
  StructuredAuthenticationConfigurationEgressSelector beta on: absent
  StructuredAuthorizationConfiguration stable on locked: locked
  SupplementalGroupsPolicy beta on: acts
  SystemdWatchdog beta on: kubelet
  TokenRequestServiceAccountUIDValidation beta on: acts
  TopologyAwareHints stable on locked: locked
  TopologyManagerPolicyAlphaOptions alpha off: kubelet
  TopologyManagerPolicyBetaOptions beta on: kubelet
  TopologyManagerPolicyOptions stable on: kubelet
  TranslateStreamCloseWebsocketRequests beta on: always
  UnauthenticatedHTTP2DOSMitigation beta on: always
  UnknownVersionInteroperabilityProxy alpha off: absent
  UserNamespacesPodSecurityStandards alpha off: acts
  UserNamespacesSupport beta on: acts
  VolumeAttributesClass stable on: acts
  WatchCacheInitializationPostStartHook beta off: internal
  WatchFromStorageWithoutResourceVersion deprecated off locked: locked
  WatchList beta on: acts
  WatchListClient beta off: client
  WinDSR stable on locked: locked
  WinOverlay stable on locked: locked
  WindowsCPUAndMemoryAffinity alpha off: windows
  WindowsGracefulNodeShutdown beta on: windows
  WindowsHostNetwork deprecated off: windows
`;

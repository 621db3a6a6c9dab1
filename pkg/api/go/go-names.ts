/**
 * Names and order of fields in Kubernetes' internal Go types, where they are not those of the
 * versioned type: messages print values of internal types.
 */

/** Go names with initialisms; other names are capitalized JSON names. */
const initialisms: ReadonlyMap<string, string> = new Map(
  `
    APIGroup APIGroups APIVersion APIVersions AWSElasticBlockStore CABundle CEL CIDR CIDRs CSI CephFS
    DNSConfig DNSPolicy FC FSGroup FSGroupChangePolicy FSGroupPolicy FSType GCEPersistentDisk GID
    GMSACredentialSpec GMSACredentialSpecName GRPC HTTP HTTPGet HTTPHeaders IP IPBlock IPFamilies
    IPFamilyPolicy IPMode IPs IQN ISCSI ISCSIInterface NFS OS OSImage PDName QOSClass RBD
    SELinuxChangePolicy SELinuxMount SELinuxOptions SSLEnabled StorageOS TCPSocket TLS
    TTLSecondsAfterFinished TTY UID URL WWIDs
  `
    .trim()
    .split(/\s+/)
    .map((name) => [name.toLowerCase(), name]),
);

const iscsi = { chapAuthDiscovery: "DiscoveryCHAPAuth", chapAuthSession: "SessionCHAPAuth" };
const glusterfs = { endpoints: "EndpointsName" };
const rbd = { image: "RBDImage", monitors: "CephMonitors", pool: "RBDPool", user: "RadosUser" };

/** Struct -> Go names that cannot be derived from JSON names. */
const otherNames: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  AzureDiskVolumeSource: { diskURI: "DataDiskURI" },
  ContainerStatus: { lastState: "LastTerminationState" },
  DeviceAttribute: {
    bool: "BoolValue",
    int: "IntValue",
    string: "StringValue",
    version: "VersionValue",
  },
  Event: { reportingComponent: "ReportingController" },
  GlusterfsPersistentVolumeSource: glusterfs,
  GlusterfsVolumeSource: glusterfs,
  ISCSIPersistentVolumeSource: iscsi,
  ISCSIVolumeSource: iscsi,
  RBDPersistentVolumeSource: rbd,
  RBDVolumeSource: rbd,
};

/** Struct -> all fields of the internal type in order. */
const otherOrders: Readonly<Record<string, string>> = {
  PersistentVolumeSource: `
    GCEPersistentDisk AWSElasticBlockStore HostPath Glusterfs NFS RBD Quobyte ISCSI FlexVolume Cinder
    CephFS FC Flocker AzureFile VsphereVolume AzureDisk PhotonPersistentDisk PortworxVolume ScaleIO
    Local StorageOS CSI
  `,
  PodSecurityContext: `
    SELinuxOptions WindowsOptions RunAsUser RunAsGroup RunAsNonRoot SupplementalGroups
    SupplementalGroupsPolicy FSGroup FSGroupChangePolicy Sysctls SeccompProfile AppArmorProfile
    SELinuxChangePolicy
  `,
  PodSpec: `
    Volumes InitContainers Containers EphemeralContainers RestartPolicy TerminationGracePeriodSeconds
    ActiveDeadlineSeconds DNSPolicy NodeSelector ServiceAccountName AutomountServiceAccountToken NodeName
    SecurityContext ImagePullSecrets Hostname Subdomain SetHostnameAsFQDN Affinity SchedulerName
    Tolerations HostAliases PriorityClassName Priority PreemptionPolicy DNSConfig ReadinessGates
    RuntimeClassName Overhead EnableServiceLinks TopologySpreadConstraints OS SchedulingGates
    ResourceClaims Resources HostnameOverride
  `,
  Volume: `
    Name HostPath EmptyDir GCEPersistentDisk AWSElasticBlockStore GitRepo Secret NFS ISCSI Glusterfs
    PersistentVolumeClaim RBD Quobyte FlexVolume Cinder CephFS Flocker DownwardAPI FC AzureFile ConfigMap
    VsphereVolume AzureDisk PhotonPersistentDisk Projected PortworxVolume ScaleIO StorageOS CSI Ephemeral
    Image
  `,
};

/** Go name of a field: `httpGet` is `HTTPGet`. */
export function goFieldName(struct: string, jsonName: string): string {
  const { [jsonName]: other } = otherNames[struct] ?? {};
  if (other !== undefined) return other;
  const known = initialisms.get(jsonName.toLowerCase());
  return known ?? jsonName.charAt(0).toUpperCase() + jsonName.slice(1);
}

/**
 * Fields in the order of the internal type; undefined if the order is that of the versioned type.
 */
export function goFieldOrder(struct: string): readonly string[] | undefined {
  return otherOrders[struct]?.trim().split(/\s+/);
}

/** PodSpec fields that the internal type holds at the start of its security context. */
export const hostFields: readonly string[] = [
  "HostNetwork",
  "HostPID",
  "HostIPC",
  "ShareProcessNamespace",
  "HostUsers",
];

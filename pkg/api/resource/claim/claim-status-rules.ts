/** Validation of ResourceClaim status: allocation, reservations and device status. */
import { deepEqual, formatIp, isIpv4Mapped, parseCidr } from "#base";
import { Path, type Problems, type StructType } from "#schema";
import { checkConditions } from "../../condition-rules.ts";
import { checkNodeSelector } from "../../core/pod/spec/node-selector-rules.ts";
import { goShape } from "../../go/go-shape.ts";
import {
  fieldImmutableMessage,
  invalidEach,
  memberOf,
  duplicateIndexes,
  unsupported,
} from "../../strategy.ts";
import { checkReference, checkReferences, requestNames } from "./claim-rules.ts";
import {
  type Allocation,
  claimsV1beta2,
  type ClaimStatus,
  type ResourceClaim,
} from "./claim-structs.ts";
import {
  checkBinding,
  checkConfigurations,
  checkData,
  checkDriver,
  checkEach,
  checkLabel,
  checkPool,
  checkSet,
  checkToleration,
  maxDataBytes,
} from "../device-rules.ts";

const maxConsumers = 256;
const maxResults = 32;
const maxConfigurations = 64;
const maxConditions = 8;
const maxAddresses = 16;
const maxInterfaceLength = 256;
const maxHardwareAddressLength = 128;

type Consumer = NonNullable<ClaimStatus["reservedFor"]>[number];
type DeviceStatus = NonNullable<ClaimStatus["devices"]>[number];
type NetworkData = NonNullable<DeviceStatus["networkData"]>;
type Result = NonNullable<Allocation["devices"]["results"]>[number];

interface Options {
  readonly names: ReadonlySet<string>;
  readonly problems: Problems;
}

const path = Path.of("status");

/** Key that identifies a device within a claim. */
function deviceKey(device: Pick<Result, "driver" | "pool" | "device" | "shareID">): string {
  return JSON.stringify([device.driver, device.pool, device.device, device.shareID ?? ""]);
}

function allocatedKeys({ allocation }: ClaimStatus): ReadonlySet<string> {
  return new Set(allocation?.devices.results?.map(deviceKey));
}

/** Removes the status of devices that are no longer allocated. */
export function dropDeallocated(
  { status: now }: ResourceClaim,
  { status: old }: ResourceClaim,
): void {
  const allocated = allocatedKeys(now);
  const before = allocatedKeys(old);
  const allocatedDevices = now.devices?.filter((device) => {
    const key = deviceKey(device);
    return allocated.has(key) || !before.has(key);
  });
  if (allocatedDevices === undefined || allocatedDevices.length === now.devices?.length) return;
  if (allocatedDevices.length > 0) now.devices = allocatedDevices;
  else delete now.devices;
}

export function checkClaimStatus(
  { spec, status: now, metadata }: ResourceClaim,
  { status: old }: ResourceClaim,
  problems: Problems,
): void {
  const names = requestNames(spec.devices);
  const isDeleted = Boolean(metadata.deletionTimestamp);
  const reservedPath = path.child("reservedFor");
  checkSet(now.reservedFor, maxConsumers, {
    path: reservedPath,
    problems,
    check: (consumer, itemPath) => checkConsumer(consumer, itemPath, problems),
    key: ({ uid }) => uid,
    field: "uid",
  });
  checkDevices(now, problems);
  const reserved = now.reservedFor ?? [];
  if (reserved.length > 0 && now.allocation === undefined) {
    problems.forbidden(reservedPath, "may not be specified when `allocated` is not set");
  } else if (isDeleted && !reserved.every(memberOf(old.reservedFor))) {
    const detail =
      "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
    problems.forbidden(reservedPath, detail);
  }
  const allocationPath = path.child("allocation");
  if (now.allocation === undefined) return;
  if (old.allocation === undefined)
    checkAllocation(now.allocation, allocationPath, { names, problems });
  else if (!deepEqual(now.allocation, old.allocation)) {
    problems.invalid(allocationPath, shownAllocation(now.allocation), fieldImmutableMessage);
  }
}

const statusStruct = claimsV1beta2.resourceClaim.fields.status.type;

function shownAllocation(allocation: Allocation): unknown {
  return goShape(statusStruct.fields.allocation.type as StructType, allocation);
}

function checkConsumer({ resource, name, uid }: Consumer, path: Path, problems: Problems): void {
  for (const [field, value] of Object.entries({ resource, name, uid })) {
    if (value === "") problems.required(path.child(field));
  }
}

function checkDevices(status: ClaimStatus, problems: Problems): void {
  const devicesPath = path.child("devices");
  const devices = status.devices ?? [];
  const allocated = allocatedKeys(status);
  checkEach(devices, Infinity, {
    path: devicesPath,
    problems,
    check: (device, each) => checkDevice(device, each, { allocated, problems }),
  });
  for (const index of duplicateIndexes(devices, deviceKey)) {
    problems.duplicate(devicesPath.index(index).child("deviceID"), unnamedDevice);
  }
}

/** Value of the error without names, as in Kubernetes. */
const unnamedDevice = { Driver: {}, Pool: {}, Device: {}, ShareID: {} };

function checkDevice(
  device: DeviceStatus,
  path: Path,
  { allocated, problems }: { readonly allocated: ReadonlySet<string>; readonly problems: Problems },
): void {
  const { driver, pool, data, networkData, conditions } = device;
  checkDriver(driver, path.child("driver"), problems);
  checkPool(pool, path.child("pool"), problems);
  checkLabel(device.device, path.child("device"), problems);
  checkShare(device.shareID, path.child("shareID"), problems);
  if (!allocated.has(deviceKey(device))) {
    problems.invalid(path, unnamedDevice, "must be an allocated device in the claim");
  }
  const conditionsPath = path.child("conditions");
  const count = conditions?.length ?? 0;
  if (count > maxConditions) problems.tooMany(conditionsPath, count, maxConditions);
  checkConditions(conditions ?? undefined, conditionsPath, problems);
  if (data !== undefined) {
    checkData(data, path.child("data"), { problems, longest: maxDataBytes });
  }
  if (networkData !== undefined) checkNetwork(networkData, path.child("networkData"), problems);
}

function checkShare(share: string | undefined, path: Path, problems: Problems): void {
  if (share === undefined) return;
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(share)) return;
  const detail =
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` " +
    "with lowercase hexadecimal characters";
  problems.invalid(path, share, detail);
}

function checkNetwork(network: NetworkData, fieldPath: Path, problems: Problems): void {
  const { interfaceName = "", hardwareAddress = "", ips } = network;
  if (interfaceName.length > maxInterfaceLength) {
    problems.tooLong(fieldPath.child("interfaceName"), interfaceName, maxInterfaceLength);
  }
  if (hardwareAddress.length > maxHardwareAddressLength) {
    problems.tooLong(fieldPath.child("hardwareAddress"), hardwareAddress, maxHardwareAddressLength);
  }
  checkSet(ips, maxAddresses, {
    path: fieldPath.child("ips"),
    problems,
    check: (address, each) => {
      invalidEach(problems, each, { value: address, messages: interfaceFaults(address) });
    },
    key: (address) => address,
  });
}

function interfaceFaults(text: string): readonly string[] {
  const network = parseCidr(text);
  if (network === undefined) {
    return ["must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"];
  }
  // Preserves host bits; an IPv4-mapped address is formatted as IPv4.
  const { address, prefix } = network;
  const shift = isIpv4Mapped(address) && prefix > 32 ? 96 : 0;
  const canonical = `${formatIp(address)}/${prefix - shift}`;
  if (text === canonical) return [];
  return [`must be in canonical form (${JSON.stringify(canonical)})`];
}

function checkAllocation(allocation: Allocation, fieldPath: Path, options: Options): void {
  const { problems } = options;
  const { devices, nodeSelector } = allocation;
  const devicesPath = fieldPath.child("devices");
  checkEach(devices.results, maxResults, {
    path: devicesPath.child("results"),
    problems,
    check: (result, each) => checkResult(result, each, options),
  });
  checkConfigurations(devices.config, devicesPath.child("config"), {
    problems,
    isStored: false,
    most: maxConfigurations,
    check: ({ source, requests }, each) => {
      checkSource(source, each.child("source"), problems);
      checkReferences(requests, each.child("requests"), options);
    },
  });
  if (nodeSelector === undefined) return;
  checkNodeSelector(nodeSelector, fieldPath.child("nodeSelector"), { problems });
}

function checkSource(source: string, path: Path, problems: Problems): void {
  const supported = ["FromClaim", "FromClass"];
  if (source === "") problems.required(path);
  else if (!supported.includes(source)) unsupported(problems, path, { value: source, supported });
}

function checkResult(result: Result, path: Path, options: Options): void {
  const { problems } = options;
  checkReference(result.request, path.child("request"), options);
  checkDriver(result.driver, path.child("driver"), problems);
  checkPool(result.pool, path.child("pool"), problems);
  checkLabel(result.device, path.child("device"), problems);
  checkBinding(result, path, problems);
  for (const [index, toleration] of (result.tolerations ?? []).entries()) {
    checkToleration(toleration, path.child("tolerations").index(index), problems);
  }
  checkShare(result.shareID, path.child("shareID"), problems);
}

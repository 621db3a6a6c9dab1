/** dynamic-resource-allocation: devices, claims of pods, and the allocator of devices. */
export { claimFinalizer } from "./claim-finalizer.ts";
export { DeviceSelectors, SelectorFault } from "./device-selectors.ts";
export {
  checkClaimOwner,
  ClaimFault,
  claimKeysOf,
  claimNameOf,
  claimsOfPod,
  type ClaimingPod,
  isReservedFor,
} from "./pod-claims.ts";
export { TaintedSlices } from "./tainted-slices.ts";
export { Allocator } from "./structured/allocator.ts";
export { AllocationFault } from "./structured/requests.ts";
export {
  AllocatedState,
  type AllocatorFeatures,
  allocatorFeatures,
  deviceIdOf,
} from "./structured/state.ts";

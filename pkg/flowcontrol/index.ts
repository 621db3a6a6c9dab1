/** flowcontrol: API Priority and Fairness (KEP-1040): dispatches, queues or rejects requests. */
export type * from "./contract.ts";
export { ClassifiedRequest, FlowController } from "./flow-controller.ts";
export { FlowControlConfiguration } from "./configuration/flow-control-configuration.ts";
export { WatchTracker } from "./estimates/watch-tracker.ts";
export { WorkEstimator } from "./estimates/work-estimator.ts";
export { FairDispatcher } from "./dispatch/dispatcher.ts";
export { flowControlMetrics } from "./metrics/definitions.ts";
export { FlowControlMetrics } from "./metrics/recorder.ts";
export { queuingFault } from "./queuing/shuffle-sharding.ts";
export { controlledRegistry } from "./controlled-registry.ts";

import type { Awaitable } from "#base";
import type { Resource } from "#meta";
import type { Query, RequestInfo, User } from "#request";
import { flowDistinguisher, type FlowSchemaObject } from "./classification/classifier.ts";
import type { FlowControlConfiguration } from "./configuration/flow-control-configuration.ts";
import type { PriorityLevelObject } from "./configuration/priority-level-settings.ts";
import type {
  Admission,
  FlowRequest,
  Rejection,
  RequestDispatcher,
  WaitLimits,
  WorkEstimate,
} from "./contract.ts";
import type { WatchTracker } from "./estimates/watch-tracker.ts";
import type { WorkEstimator } from "./estimates/work-estimator.ts";

/** The attributes of a request by which it is classified and its work estimated. */
export interface ControlledRequest {
  readonly user: User;
  readonly info: RequestInfo;
  readonly query: Query;
  /** Undefined if no served resource has the path. */
  readonly resource: Resource | undefined;
}

export interface FlowControllerParts {
  readonly configuration: FlowControlConfiguration;
  readonly dispatcher: RequestDispatcher;
  readonly estimator: WorkEstimator;
  readonly watches: WatchTracker;
}

/** API Priority and Fairness of one server. */
export class FlowController {
  readonly watches: WatchTracker;

  constructor(private readonly parts: FlowControllerParts) {
    this.watches = parts.watches;
  }

  classify(request: ControlledRequest): ClassifiedRequest {
    return new ClassifiedRequest(request, this.parts);
  }
}

/**
 * A request with its FlowSchema and priority level. The dispatcher uses this object itself, as copying
 * it by spread takes a few µs.
 */
export class ClassifiedRequest implements FlowRequest {
  readonly info: RequestInfo;
  readonly userName: string;
  readonly flowSchemaObject: FlowSchemaObject;
  readonly priorityLevelObject: PriorityLevelObject;
  readonly flowDistinguisher: string;
  readonly estimate: WorkEstimate;
  private readonly dispatcher: RequestDispatcher;

  constructor(request: ControlledRequest, parts: FlowControllerParts) {
    const { configuration, dispatcher, estimator } = parts;
    const { user, info } = request;
    this.info = info;
    this.userName = user.name;
    this.flowSchemaObject = configuration.classify(user, info);
    this.priorityLevelObject = configuration.levelOf(this.flowSchemaObject);
    this.flowDistinguisher = flowDistinguisher(this.flowSchemaObject, user, info);
    this.estimate = estimator.estimate(request, this);
    this.dispatcher = dispatcher;
  }

  get flowSchema(): string {
    return this.flowSchemaObject.metadata.name;
  }

  get priorityLevel(): string {
    return this.priorityLevelObject.metadata.name;
  }

  /** Requests the seats; each call occupies them once more. */
  start(wait: WaitLimits): Awaitable<Admission | Rejection> {
    return this.dispatcher.start(this.priorityLevel, this, wait);
  }
}

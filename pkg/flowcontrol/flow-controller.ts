import type { Awaitable } from "#base";
import type { Query, RequestInfo, User } from "#request";
import type { FlowControlConfiguration } from "./configuration/flow-control-configuration.ts";
import type { PriorityLevelObject } from "./configuration/priority-level-settings.ts";
import type { FlowSchemaObject } from "./classification/classifier.ts";
import type {
  Admission,
  FlowRequest,
  Rejection,
  RequestDispatcher,
  WaitLimits,
  WorkEstimate,
} from "./contract.ts";
import type { CollectionSize } from "./estimates/list-seats.ts";
import type { WatchTracker } from "./estimates/watch-tracker.ts";
import type { WorkEstimator } from "./estimates/work-estimator.ts";

/** A request as flow control sees it. */
export interface ControlledRequest {
  readonly user: User;
  readonly info: RequestInfo;
  readonly query: Query;
  /** Size of the collection that the request addresses; undefined = not known. */
  readonly sizeOf: () => CollectionSize | undefined;
}

export interface FlowControllerParts {
  readonly configuration: FlowControlConfiguration;
  readonly dispatcher: RequestDispatcher;
  readonly estimator: WorkEstimator;
  readonly watches: WatchTracker;
}

/** API Priority and Fairness of one server: classifies requests and gives them seats. */
export class FlowController {
  readonly watches: WatchTracker;
  readonly dispatcher: RequestDispatcher;

  constructor(private readonly parts: FlowControllerParts) {
    this.watches = parts.watches;
    this.dispatcher = parts.dispatcher;
  }

  classify({ user, info, query, sizeOf }: ControlledRequest): ClassifiedRequest {
    const { configuration, estimator, dispatcher } = this.parts;
    const classification = configuration.classify(user, info);
    const { flowSchema, priorityLevel, flowDistinguisher } = classification;
    const { name } = flowSchema.metadata;
    // Without spreading, which would cost 2 µs for each request.
    const estimate = estimator.estimate({
      flowSchema: name,
      priorityLevel: priorityLevel.metadata.name,
      info,
      query,
      sizeOf,
    });
    const { name: userName } = user;
    const request = { flowSchema: name, flowDistinguisher, estimate, info, userName };
    return new ClassifiedRequest(dispatcher, { flowSchema, priorityLevel, request });
  }
}

interface Parts {
  readonly flowSchema: FlowSchemaObject;
  readonly priorityLevel: PriorityLevelObject;
  readonly request: FlowRequest;
}

/** A request with its FlowSchema and priority level. */
export class ClassifiedRequest {
  constructor(
    private readonly dispatcher: RequestDispatcher,
    private readonly parts: Parts,
  ) {}

  get flowSchema(): FlowSchemaObject["metadata"] {
    return this.parts.flowSchema.metadata;
  }

  get priorityLevel(): PriorityLevelObject["metadata"] {
    return this.parts.priorityLevel.metadata;
  }

  get estimate(): WorkEstimate {
    return this.parts.request.estimate;
  }

  /** Asks for the seats of the request; each call asks for them once more. */
  start(wait: WaitLimits): Awaitable<Admission | Rejection> {
    return this.dispatcher.start(this.priorityLevel.name, this.parts.request, wait);
  }
}

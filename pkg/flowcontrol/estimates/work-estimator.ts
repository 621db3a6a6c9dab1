import type { Query, RequestInfo } from "#request";
import type { DispatchMetrics, RequestDispatcher, WorkEstimate } from "../contract.ts";
import { type CollectionSize, listSeats } from "./list-seats.ts";
import type { WatchTracker } from "./watch-tracker.ts";

export interface EstimatedRequest {
  readonly info: RequestInfo;
  readonly query: Query;
  /** Name of the FlowSchema that matched. */
  readonly flowSchema: string;
  /** Name of its priority level. */
  readonly priorityLevel: string;
  /** Size of the collection that the request addresses; undefined = not known. */
  readonly sizeOf: () => CollectionSize | undefined;
}

export interface EstimatorOptions {
  readonly watches: Pick<WatchTracker, "interested">;
  readonly dispatcher: Pick<RequestDispatcher, "maxSeats">;
  readonly metrics: Pick<DispatchMetrics, "watchCount">;
  /** Whether lists are also estimated by the size of their objects. */
  readonly isSizeBased: boolean;
}

/** Most seats of one request. */
const mostSeats = 10;
/** Watches that a mutation notifies for one seat. */
const watchesPerSeat = 10;
/** Time in ms for which a mutation occupies the seats of its notifications. */
const notificationMs = 5;

const oneSeat: WorkEstimate = { initialSeats: 1, finalSeats: 0, additionalLatency: 0 };

/** Estimates the seats that requests occupy, with the constants of Kubernetes 1.34. */
export class WorkEstimator {
  constructor(private readonly options: EstimatorOptions) {}

  estimate(request: EstimatedRequest): WorkEstimate {
    switch (request.info.verb) {
      case "list":
        return this.list(request);
      case "watch":
        // Initial events cost as much as the list; without them a watch starts at once.
        return request.query.flag("sendInitialEvents") === true ? this.list(request) : oneSeat;
      case "create":
      case "update":
      case "patch":
      case "delete":
        return this.mutation(request);
      default:
        return oneSeat;
    }
  }

  private list(request: EstimatedRequest): WorkEstimate {
    const size = request.info.name === "" ? request.sizeOf() : undefined;
    if (size === undefined || size.objects === 0) return oneSeat;
    const seats = listSeats(size, request, this.options.isSizeBased);
    const initialSeats = Math.min(seats, this.mostSeatsAt(request.priorityLevel));
    return initialSeats <= 1 ? oneSeat : { initialSeats, finalSeats: 0, additionalLatency: 0 };
  }

  /**
   * Notifying watches takes a tenth of a seat each for some milliseconds after the write. Where that
   * is wider than a request may be, it becomes narrower and longer.
   */
  private mutation({ info, flowSchema, priorityLevel }: EstimatedRequest): WorkEstimate {
    // Requesting a token changes no object.
    if (info.resource === "serviceaccounts" && info.subresource === "token") return oneSeat;
    if (!info.isResource) return oneSeat;
    const { watches, metrics } = this.options;
    const count = watches.interested(info);
    metrics.watchCount(priorityLevel, flowSchema, count);
    if (count < watchesPerSeat) return oneSeat;
    const wanted = Math.ceil(count / watchesPerSeat);
    const finalSeats = Math.min(wanted, this.mostSeatsAt(priorityLevel));
    return {
      initialSeats: 1,
      finalSeats,
      additionalLatency: (wanted * notificationMs) / finalSeats,
    };
  }

  private mostSeatsAt(level: string): number {
    return Math.min(mostSeats, this.options.dispatcher.maxSeats(level) ?? mostSeats);
  }
}

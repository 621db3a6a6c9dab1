import type { Resource } from "#meta";
import type { Query, RequestInfo } from "#request";
import type { DispatchMetrics, RequestDispatcher, WorkEstimate } from "../contract.ts";
import { type CollectionSize, listSeats } from "./list-seats.ts";
import type { WatchTracker } from "./watch-tracker.ts";

export interface EstimatedRequest {
  readonly info: RequestInfo;
  readonly query: Query;
  /** Undefined if no served resource has the path. */
  readonly resource: Resource | undefined;
}

/** The classification of a request. */
interface Names {
  readonly flowSchema: string;
  readonly priorityLevel: string;
}

export interface EstimatorOptions {
  readonly watches: Pick<WatchTracker, "interestedWatchCount">;
  readonly dispatcher: Pick<RequestDispatcher, "maxSeats">;
  readonly metrics: Pick<DispatchMetrics, "watchCount">;
  /** Whether lists are also estimated by size (feature gate SizeBasedListCostEstimate). */
  readonly isSizeBased: boolean;
  /** Size of a collection; undefined if unknown. */
  readonly sizeOf: (request: Collection) => CollectionSize | undefined;
}

interface Collection {
  readonly resource: Resource;
  /** "" = all namespaces. */
  readonly namespace: string;
}

/** Maximum seats of one request. */
const maxRequestSeats = 10;
/** Notified watches per final seat. */
const watchesPerSeat = 10;
/** Additional latency in ms of a mutation that notifies watches. */
const notificationMs = 5;

const oneSeat: WorkEstimate = { initialSeats: 1, finalSeats: 0, additionalLatency: 0 };

/** Estimates the seats that requests occupy, with the constants of Kubernetes 1.34. */
export class WorkEstimator {
  constructor(private readonly options: EstimatorOptions) {}

  estimate(request: EstimatedRequest, names: Names): WorkEstimate {
    switch (request.info.verb) {
      case "list":
        return this.list(request, names);
      case "watch":
        // Initial events cost as much as a list.
        return request.query.flag("sendInitialEvents") === true
          ? this.list(request, names)
          : oneSeat;
      case "create":
      case "update":
      case "patch":
      case "delete":
        return this.mutation(request.info, names);
      default:
        return oneSeat;
    }
  }

  private list(request: EstimatedRequest, { priorityLevel }: Names): WorkEstimate {
    const { info, resource } = request;
    const { namespace } = info;
    const isKnown = info.name === "" && resource !== undefined;
    const size = isKnown ? this.options.sizeOf({ resource, namespace }) : undefined;
    if (size === undefined || size.objects === 0) return oneSeat;
    const seats = listSeats(size, request, this.options.isSizeBased);
    const initialSeats = Math.min(seats, this.maxSeatsAt(priorityLevel));
    return initialSeats <= 1 ? oneSeat : { initialSeats, finalSeats: 0, additionalLatency: 0 };
  }

  /**
   * Notifying watches takes a tenth of a seat each for 5 ms after the write. If that exceeds the
   * maximum seats, the final phase is extended instead.
   */
  private mutation(info: RequestInfo, { flowSchema, priorityLevel }: Names): WorkEstimate {
    // A TokenRequest changes no object.
    if (info.resource === "serviceaccounts" && info.subresource === "token") return oneSeat;
    if (!info.isResource) return oneSeat;
    const { watches, metrics } = this.options;
    const count = watches.interestedWatchCount(info);
    metrics.watchCount(priorityLevel, flowSchema, count);
    if (count < watchesPerSeat) return oneSeat;
    const wanted = Math.ceil(count / watchesPerSeat);
    const finalSeats = Math.min(wanted, this.maxSeatsAt(priorityLevel));
    return {
      initialSeats: 1,
      finalSeats,
      additionalLatency: (wanted * notificationMs) / finalSeats,
    };
  }

  private maxSeatsAt(level: string): number {
    return Math.min(maxRequestSeats, this.options.dispatcher.maxSeats(level) ?? maxRequestSeats);
  }
}

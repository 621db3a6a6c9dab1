import { defaultElectionTimes } from "#client";
import { flag } from "./parse.ts";

/** Times of leader election, with the names and defaults of Kubernetes' programs. */
export const leaderElectionTimeFlags = {
  "leader-elect-lease-duration": flag(
    "duration",
    defaultElectionTimes.leaseDurationMs,
    "time after the last renewal for which other candidates wait before they take the Lease",
  ),
  "leader-elect-renew-deadline": flag(
    "duration",
    defaultElectionTimes.renewDeadlineMs,
    "time for which the leader retries a renewal before it stops leading; less than " +
      "--leader-elect-lease-duration",
  ),
  "leader-elect-retry-period": flag(
    "duration",
    defaultElectionTimes.retryPeriodMs,
    "time between attempts to acquire or renew the Lease",
  ),
} as const;

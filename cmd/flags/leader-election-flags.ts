import { defaultElectionTimes } from "#client";
import { flag } from "./parse.ts";

/** Durations of leader election, with the names and defaults of Kubernetes' programs. */
export const leaderElectionTimeFlags = {
  "leader-elect-lease-duration": flag(
    "duration",
    defaultElectionTimes.leaseDurationMs,
    "time that other candidates wait after the last observed renewal before they acquire the Lease",
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

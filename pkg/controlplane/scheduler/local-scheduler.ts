/** The scheduler in the process of the API server. */
import { setImmediate } from "node:timers/promises";
import { cryptoRandom } from "#base";
import { Informers } from "#client";
import { apiserver } from "#registry";
import type { User } from "#request";
import { defaultSchedulerSettings, runScheduler, schedulerMetrics } from "#scheduler";
import { controlledRegistry } from "#flowcontrol";
import type { LocalControllers } from "../controller-manager/local-controllers.ts";

const name = "system:kube-scheduler";
const schedulerUser: User = { ...apiserver, name };

type LocalScheduler = Pick<
  LocalControllers,
  | "registry"
  | "aggregated"
  | "clock"
  | "signal"
  | "report"
  | "metrics"
  | "flowControl"
  | "gates"
  | "options"
>;

/** Schedules pods until the signal aborts. */
export async function runLocalScheduler(local: LocalScheduler): Promise<void> {
  const { clock, signal, report, metrics, flowControl } = local;
  metrics.instruments.define(schedulerMetrics);
  // Callers that await the start run first.
  await setImmediate();
  if (signal.aborted) return;
  const registry =
    flowControl === undefined
      ? local.registry
      : controlledRegistry(local.registry, flowControl.controller, clock);
  const identity = { user: schedulerUser, userAgent: "kube-scheduler", signal };
  const own = local.aggregated.client(registry, identity);
  const client = local.options.wrapClient?.(own, identity) ?? own;
  const common = { client, clock, random: cryptoRandom, signal, report };
  const informers = new Informers(common);
  const { instruments } = metrics;
  const context = { ...common, informers, instruments, gate: local.gates };
  const { schedulerSettings = defaultSchedulerSettings } = local.options;
  await runScheduler(context, schedulerSettings);
  await informers.ended();
}

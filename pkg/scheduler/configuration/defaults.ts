import { pluginRegistry } from "../plugins/registry.ts";
import { defaultPluginArgs, type SchedulerSettings } from "./profile.ts";

/** Name of the scheduler of pods that name none. */
const defaultSchedulerName = "default-scheduler";

const defaultPlugins = [...pluginRegistry].map(([name, { weight }]) => ({ name, weight }));

/** Settings of a scheduler without a configuration file. */
export const defaultSchedulerSettings: SchedulerSettings = {
  profiles: [
    { schedulerName: defaultSchedulerName, plugins: defaultPlugins, args: defaultPluginArgs },
  ],
  percentageOfNodesToScore: 0,
  podInitialBackoffMs: 1_000,
  podMaxBackoffMs: 10_000,
};

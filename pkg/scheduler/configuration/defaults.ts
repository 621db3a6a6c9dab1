import { noPluginSets, resolvePlugins } from "./plugin-sets.ts";
import { defaultPluginArgs, type SchedulerSettings } from "./profile.ts";

/** Default of `spec.schedulerName`. */
const defaultSchedulerName = "default-scheduler";

/** Settings of a scheduler without a configuration file. */
export const defaultSchedulerSettings: SchedulerSettings = {
  profiles: [
    {
      schedulerName: defaultSchedulerName,
      plugins: resolvePlugins(noPluginSets, defaultSchedulerName),
      args: defaultPluginArgs,
    },
  ],
  extenders: [],
  percentageOfNodesToScore: 0,
  podInitialBackoffMs: 1_000,
  podMaxBackoffMs: 10_000,
};

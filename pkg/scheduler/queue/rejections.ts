import type { Instruments } from "#request";
import type { QueuedPod } from "../framework/contract.ts";

/** The gauge of pods in the queue by the plugins that rejected them. */
export class Rejections {
  private told = new Map<string, readonly [plugin: string, profile: string]>();

  constructor(private readonly instruments: Instruments) {}

  tell(pods: Iterable<QueuedPod>): void {
    const counts = new Map([...this.told.keys()].map((key) => [key, 0]));
    for (const { info, unschedulablePlugins } of pods) {
      const { schedulerName: profile = "" } = info.pod.spec ?? {};
      for (const plugin of unschedulablePlugins) {
        const key = `${plugin} ${profile}`;
        this.told.set(key, [plugin, profile]);
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
    }
    for (const [key, count] of counts) {
      const [plugin, profile] = this.told.get(key)!;
      this.instruments.set("scheduler_unschedulable_pods", { plugin, profile }, count);
    }
  }
}

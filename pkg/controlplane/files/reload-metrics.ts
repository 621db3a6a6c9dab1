import { createHash } from "node:crypto";
import type { Instruments, MetricDefinition } from "#request";

/** Configuration files whose reloads have metrics in kube-apiserver. */
export type ReloadedConfiguration = "authentication" | "authorization" | "encryption";

type Outcome = "success" | "failure";

const configurations: readonly ReloadedConfiguration[] = [
  "authentication",
  "authorization",
  "encryption",
];

function prefixOf(configuration: ReloadedConfiguration): string {
  return `apiserver_${configuration}_config_controller`;
}

/** Definitions to register with the instruments. */
export const reloadMetrics: readonly MetricDefinition[] = configurations.flatMap((each) => {
  const labels = ["status", "apiserver_id_hash"];
  const prefix = prefixOf(each);
  return [
    {
      name: `${prefix}_automatic_reloads_total`,
      kind: "counter",
      help: `Number of automatic reloads of the ${each} configuration, by result and server.`,
      labels,
    },
    {
      name: `${prefix}_automatic_reload_last_timestamp_seconds`,
      kind: "gauge",
      help: `Time of the last automatic reload of the ${each} configuration, by result and server.`,
      labels,
    },
    {
      name: `${prefix}_last_config_info`,
      kind: "gauge",
      help: `Hash of the ${each} configuration that the server has applied last.`,
      labels: ["apiserver_id_hash", "hash"],
    },
  ];
});

/** Metrics of configuration files that are reloaded when they change. */
export class ReloadMetrics {
  private readonly hashes = new Map<ReloadedConfiguration, string>();
  private readonly server: string;

  /** `serverId` is the name of the server's identity Lease; "" = none. */
  constructor(
    private readonly instruments: Instruments,
    serverId: string,
  ) {
    this.server = hashOf(serverId);
  }

  /** Records the configuration that is in force. */
  applied(configuration: ReloadedConfiguration, text: string): void {
    const name = `${prefixOf(configuration)}_last_config_info`;
    const old = this.hashes.get(configuration);
    const hash = hashOf(text);
    const labels = { apiserver_id_hash: this.server };
    if (old !== undefined) this.instruments.remove(name, { ...labels, hash: old });
    this.hashes.set(configuration, hash);
    this.instruments.set(name, { ...labels, hash }, 1);
  }

  /** Records a reload; `now` in ms since 1970. */
  reloaded(configuration: ReloadedConfiguration, status: Outcome, now: number): void {
    const prefix = prefixOf(configuration);
    const labels = { status, apiserver_id_hash: this.server };
    this.instruments.add(`${prefix}_automatic_reloads_total`, labels, 1);
    const timestamp = `${prefix}_automatic_reload_last_timestamp_seconds`;
    this.instruments.set(timestamp, labels, now / 1000);
  }
}

function hashOf(text: string): string {
  return text === "" ? "" : `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

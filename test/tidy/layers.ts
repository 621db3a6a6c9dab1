/**
 * Import ranks: a folder of pkg/ imports only folders of a lower rank; peers never import each
 * other.
 */
export const layers: readonly (readonly string[])[] = [
  ["base"],
  ["schema", "pki"],
  ["meta"],
  ["cel", "request", "storage", "fieldmanager", "quota"],
  ["structural"],
  ["api"],
  ["registry"],
  ["client"],
  ["kinds"],
  ["volumes", "routing"],
  ["dynamic-resource-allocation"],
  [
    "authn",
    "audit",
    "authz",
    "admission",
    "crd",
    "aggregator",
    "controllers",
    "nodes",
    "scheduler",
    "tracing",
    "flowcontrol",
  ],
  ["server", "metrics-server"],
  ["controlplane"],
];

/** The only folders that may import an npm package, by package. */
export const doors: Readonly<Record<string, readonly RegExp[]>> = {
  koa: [/^pkg\/server\//],
  "@koa/router": [/^pkg\/server\//],
  etcd3: [/^pkg\/storage\/etcd\//],
  cockatiel: [/^pkg\/storage\/etcd\//],
  lmdb: [/^pkg\/storage\/embedded\//],
  "@grpc/grpc-js": [/^pkg\/storage\/encryption\//],
  "@noble/ciphers": [/^pkg\/storage\/encryption\//],
  protobufjs: [/^pkg\/schema\/protobuf\//],
  "js-yaml": [/^pkg\/meta\/encoding\/yaml\.ts$/],
  re2js: [/^pkg\/cel\/library\/kubernetes\/patterns\.ts$/],
  ws: [/^pkg\/server\/transport\/websocket\.ts$/],
  "prom-client": [/^pkg\/server\/metrics[./]/],
  "@opentelemetry/api": [/^pkg\/tracing\/open-telemetry\.ts$/],
  "@opentelemetry/core": [/^pkg\/tracing\/open-telemetry\.ts$/],
  "@opentelemetry/exporter-trace-otlp-grpc": [/^pkg\/tracing\/open-telemetry\.ts$/],
  "@opentelemetry/resources": [/^pkg\/tracing\/open-telemetry\.ts$/],
  "@opentelemetry/sdk-trace-base": [/^pkg\/tracing\/open-telemetry\.ts$/],
  "@peculiar/x509": [/^pkg\/pki\//],
  "reflect-metadata": [/^pkg\/pki\//],
};

export function rankOf(folder: string): number {
  return layers.findIndex((names) => names.includes(folder));
}

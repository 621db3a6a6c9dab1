/** controlplane: assembles API servers, controller managers and local clusters from the packages below. */
export { type Cluster, MissingProgramError, startCluster } from "./cluster/cluster.ts";
export { ProcessEndedError } from "./cluster/local-process.ts";
export { CodecError, convert, type Format, formats } from "./codec/codec.ts";
export {
  runSchedulerProgram,
  type SchedulerProgramOptions,
} from "./scheduler/scheduler-program.ts";
export {
  type ControllerManagerOptions,
  runControllers,
} from "./controller-manager/controller-manager.ts";
export { makeCertificates } from "./credentials/certificates.ts";
export { writeFileAtomically } from "./files/files.ts";
export { FileError } from "./files/file-reloader.ts";
export { NetworkFlagError, serviceNetworkOf } from "./network.ts";
export { type RemoteNodesOptions, runRemoteNodes } from "./nodes/remote-nodes.ts";
export { standardLogger } from "./observability/logging.ts";
export type { AuditOptions, RunningServer, ServerSnapshot, StartOptions } from "./options.ts";
export { compactHeapWhenIdle } from "./process/compact-heap.ts";
export { limitHeapGrowth, allowHeapGrowth } from "./process/heap.ts";
export {
  isWorker,
  disconnectWorker,
  runWorkers,
  announceReady,
  WorkerError,
} from "./process/workers.ts";
export { recordCluster, type RecordOptions, type RecordProxyOptions } from "./recording/record.ts";
export { type ProxiedRequestEntry, recordedRequests } from "./recording/request-file.ts";
export { RecordError } from "./recording/record-error.ts";
export { RuntimeConfigError } from "./start/served-catalog.ts";
export { StartError, toStartError } from "./start/start-error.ts";
export { startServer } from "./start/start-server.ts";
export * from "./testing-kit/index.ts";
export type { StorageOptions } from "./storage/open-storage.ts";

/** controlplane: assembles API servers, controller managers and local clusters from the packages below. */
export { type Cluster, MissingProgramError, startCluster } from "./cluster/cluster.ts";
export { EndedError } from "./cluster/local-process.ts";
export { CodecError, convert, type Format, formats } from "./codec/codec.ts";
export { accountToken } from "./controller-manager/service-account-tokens.ts";
export { serveStatus } from "./controller-manager/serving.ts";
export { makeCertificates } from "./credentials/certificates.ts";
export { writeWhole } from "./files/files.ts";
export { FileFault } from "./files/followed-files.ts";
export { NetworkFlagError, serviceNetworkOf } from "./network.ts";
export type { AuditOptions } from "./observability/audit.ts";
export { standardLogger } from "./observability/logging.ts";
export type { RunningServer, StartOptions } from "./options.ts";
export { keepHeapSmall, makeRoomForWork } from "./process/heap.ts";
export { isWorker, leave, runWorkers, tellReady, WorkerFault } from "./process/workers.ts";
export { RuntimeConfigError } from "./start/served-catalog.ts";
export { StartFault, startFault } from "./start/start-error.ts";
export { startServer } from "./start/start-server.ts";
export type { StorageOptions } from "./storage/open-storage.ts";

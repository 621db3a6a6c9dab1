import { storageSuite } from "../suite.ts";
import { memoryBackend } from "./memory-backend.ts";

const limits = { progressMilliseconds: 300 };
storageSuite("memory", async () => memoryBackend({ limits }), { fresh: true });

import { storageSuite } from "../suite.ts";
import { memoryBackend } from "./memory-backend.ts";

storageSuite("memory", async () => memoryBackend({ limits: { progressMilliseconds: 300 } }), { fresh: true });

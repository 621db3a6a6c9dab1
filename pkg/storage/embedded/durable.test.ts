import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storageSuite } from "../suite.ts";
import { durableBackend } from "./durable.ts";

const newDirectory = (): string => mkdtempSync(join(tmpdir(), "keelson-store-"));

storageSuite("durable", () => durableBackend({ directory: newDirectory() }), { fresh: true });

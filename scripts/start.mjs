// `npm start`: installs and builds if needed, then serves in this process.
import path from "node:path";
import { pathToFileURL } from "node:url";
import { onPinnedNode } from "./runtime.mjs";
import { ensureBuilt, ensureInstalled, root } from "./setup.mjs";

await onPinnedNode();
ensureInstalled();
await ensureBuilt();
const program = path.join(root, "dist", "keelson.js");
process.argv[1] = program;
await import(pathToFileURL(program).href);

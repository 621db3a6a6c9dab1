// `npm start`: installs and builds if needed, then serves in this process.
import path from "node:path";
import { pathToFileURL } from "node:url";
import { ensureBuilt, ensureInstalled, root } from "./setup.mjs";

ensureInstalled();
await ensureBuilt();
const program = path.join(root, "dist", "keelson.js");
process.argv[1] = program;
await import(pathToFileURL(program).href);

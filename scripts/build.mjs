// `npm run build`: the bundle, and the type declarations that users of the package compile against.
import { ensureBuilt, ensureInstalled, root, run } from "./setup.mjs";
import path from "node:path";

ensureInstalled();
await ensureBuilt();
run(path.join(root, "node_modules", ".bin", "tsc"), ["-p", "tsconfig.build.json"]);
